import { Badge, Button, Group, Select, Text, TextInput } from '@mantine/core';
import { PauseIcon, PlayIcon } from '@radix-ui/react-icons';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { countOf } from '../parts/format.ts';
import { Failure } from '../parts/loading.tsx';
import { LogLines } from '../parts/log-lines.tsx';
import { Page } from '../parts/page.tsx';
import { useLiveLogs } from './live-logs.ts';

const levels = ['debug', 'info', 'warn', 'error'];

const connections = {
  live: { color: 'teal', label: 'Live' },
  connecting: { color: 'gray', label: 'Connecting…' },
  lost: { color: 'orange', label: 'Connection lost, trying again…' },
};

export function LogsPage() {
  const { level, text } = useSearch({ from: '/shell/logs' });
  const navigate = useNavigate();
  const { lines, connection, error } = useLiveLogs();
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const wanted = text?.toLowerCase();
  const shown = lines.filter(
    (line) =>
      (pausedAt === null || line.id <= pausedAt) &&
      (level === undefined || line.level.toLowerCase() === level) &&
      (wanted === undefined ||
        line.message.toLowerCase().includes(wanted) ||
        (line.repository ?? '').toLowerCase().includes(wanted)),
  );
  const held = pausedAt === null ? 0 : lines.filter(({ id }) => id > pausedAt).length;
  const filter = (change: { level?: string | undefined; text?: string | undefined }) => {
    const next = { level, text, ...change };
    void navigate({
      to: '/logs',
      search: {
        ...(next.level ? { level: next.level } : {}),
        ...(next.text ? { text: next.text } : {}),
      },
      replace: true,
    });
  };
  const { color, label } = connections[connection];
  return (
    <Page
      title="Logs"
      aside={
        <Badge color={color} variant="light" role="status">
          {label}
        </Badge>
      }
    >
      <Group align="end">
        <TextInput
          label="Text or repository"
          value={text ?? ''}
          onChange={({ currentTarget }) => filter({ text: currentTarget.value })}
          flex="1 1 200px"
        />
        <Select
          label="Level"
          placeholder="All"
          clearable
          data={levels}
          value={level ?? null}
          onChange={(level) => filter({ level: level ?? undefined })}
          w={130}
        />
        <Button
          variant="default"
          leftSection={
            pausedAt === null ? (
              <PauseIcon width={16} height={16} />
            ) : (
              <PlayIcon width={16} height={16} />
            )
          }
          onClick={() => setPausedAt(pausedAt === null ? (lines.at(-1)?.id ?? 0) : null)}
        >
          {pausedAt === null ? 'Pause' : `Go on (${held} new)`}
        </Button>
      </Group>
      {error && <Failure error={error} />}
      {shown.length > 0 ? (
        <LogLines logs={shown} />
      ) : (
        <Text c="dimmed">
          {lines.length === 0
            ? 'There are no logs yet. They appear here while a backup runs.'
            : `None of the last ${countOf(lines.length, 'line', 'lines')} fits the filter.`}
        </Text>
      )}
    </Page>
  );
}
