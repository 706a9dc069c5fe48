import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { basePath } from '../../api/base-path.ts';
import { serverNow } from '../../api/clock.ts';

const DAY_MS = 86_400_000;

/** The day of a time in UTC, in the format of date fields. */
function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Downloads the evidence of restore drills for a period. */
export function RestoreEvidence() {
  const [from, setFrom] = useState(() => dayOf(serverNow() - 30 * DAY_MS));
  const [last, setLast] = useState(() => dayOf(serverNow()));
  const isValid = from !== '' && last !== '' && from <= last;
  return (
    <Stack gap="xs" component="section" aria-label="Restore evidence">
      <Title order={2} size="h4">
        Restore evidence
      </Title>
      <Text size="sm" c="dimmed">
        For auditors: which repositories were proven restorable in a period, each restore drill, and
        the state of the ledger. Days are in UTC.
      </Text>
      <Group align="end">
        <TextInput
          type="date"
          label="From"
          value={from}
          max={last}
          onChange={({ currentTarget }) => setFrom(currentTarget.value)}
        />
        <TextInput
          type="date"
          label="To (inclusive)"
          value={last}
          min={from}
          error={isValid ? undefined : 'The end is before the start'}
          onChange={({ currentTarget }) => setLast(currentTarget.value)}
        />
        {(['html', 'markdown'] as const).map((format) => (
          <Button
            key={format}
            variant="default"
            component="a"
            href={isValid ? addressOf(from, last, format) : undefined}
            data-disabled={isValid ? undefined : true}
            download
          >
            {format === 'html' ? 'Download HTML' : 'Download Markdown'}
          </Button>
        ))}
      </Group>
    </Stack>
  );
}

function addressOf(from: string, last: string, format: string): string {
  const to = dayOf(Date.parse(last) + DAY_MS);
  return `${basePath}/api/evidence?${new URLSearchParams({ from, to, format })}`;
}
