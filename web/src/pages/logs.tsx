import { Badge, Button, Group, NumberInput, Select, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { PauseIcon, PlayIcon } from '@radix-ui/react-icons';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { formatCount } from '../parts/format.ts';
import { Failure } from '../parts/loading.tsx';
import { LogLines } from '../parts/log-lines.tsx';
import { Page } from '../parts/page.tsx';
import { useLiveLogs } from './live-logs.ts';
import type { LogFilter } from './log-filter.ts';
import { LogsAround } from './logs-around.tsx';

const TYPING_MS = 300;

const levels = ['debug', 'info', 'warn', 'error'];

const connections = {
  live: { color: 'teal', label: 'Live' },
  connecting: { color: 'gray', label: 'Connecting…' },
  lost: { color: 'orange', label: 'Connection lost, retrying…' },
  silent: { color: 'red', label: 'No sign of life for 40 s, reconnecting…' },
};

type Change = { [Key in keyof LogFilter]?: LogFilter[Key] | undefined };

/** The log: as it is written, or around one line. */
export function LogsPage() {
  const { line, ...filter } = useSearch({ from: '/shell/logs' });
  return line === undefined ? <LiveLogs filter={filter} /> : <LogsAround line={line} {...filter} />;
}

function LiveLogs({ filter }: { filter: LogFilter }) {
  const { level, text, repository, run } = filter;
  const navigate = useNavigate();
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const [follows, setFollows] = useState(true);
  const { lines, connection, error, loadOlder, isLoadingOlder } = useLiveLogs(
    filter,
    pausedAt !== null || !follows,
  );
  const change = (change: Change) => {
    setPausedAt(null);
    void navigate({ to: '/logs', search: { ...filter, ...change } as LogFilter, replace: true });
  };
  const type = useDebouncedCallback(change, TYPING_MS);
  const shown = pausedAt === null ? lines : lines.filter(({ id }) => id <= pausedAt);
  const held = lines.length - shown.length;
  const { color, label } = connections[connection];
  const isFiltered = Object.keys(filter).length > 0;
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
          label="Contains"
          defaultValue={text ?? ''}
          maxLength={200}
          onChange={({ currentTarget }) => type({ text: currentTarget.value || undefined })}
          flex="1 1 160px"
        />
        <TextInput
          label="Repository"
          placeholder="owner/name"
          defaultValue={repository ?? ''}
          maxLength={255}
          onChange={({ currentTarget }) => type({ repository: currentTarget.value || undefined })}
          flex="1 1 160px"
        />
        <NumberInput
          label="Run"
          min={1}
          max={2_147_483_647}
          allowDecimal={false}
          hideControls
          defaultValue={run ?? ''}
          onChange={(value) => type({ run: Number(value) || undefined })}
          w={90}
        />
        <Select
          label="Level"
          placeholder="All"
          clearable
          data={levels}
          value={level ?? null}
          onChange={(level) => change({ level: (level ?? undefined) as LogFilter['level'] })}
          w={120}
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
          {pausedAt === null ? 'Pause' : `Resume (${formatCount(held)} new)`}
        </Button>
      </Group>
      {error && <Failure error={error} />}
      {shown.length > 0 ? (
        <LogLines logs={shown} onFollow={setFollows} />
      ) : (
        <Text c="dimmed">
          {connection === 'connecting'
            ? 'Loading…'
            : isFiltered
              ? 'No lines match the filters yet. New ones appear here as they arrive.'
              : 'No log lines yet. They appear here while a backup runs.'}
        </Text>
      )}
      {loadOlder && (
        <Group>
          <Button variant="default" size="xs" loading={isLoadingOlder} onClick={loadOlder}>
            Load older lines
          </Button>
        </Group>
      )}
    </Page>
  );
}
