import { Anchor, Group, Progress, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { Age } from './age.tsx';
import { countOf, formatBytes, formatCount } from './format.ts';
import { useServerNow } from './use-server-now.ts';

type Running = NonNullable<Schemas['Overview']['running']>;

/** A run without a heartbeat for this long is called silent; the worker sends one every 30 seconds. */
const SILENT_MS = 3 * 60_000;

/** The progress of a run. */
export function RunProgress({ run, linked = false }: { run: Running; linked?: boolean }) {
  const done = run.successful + run.skipped + run.failed;
  const received = run.progress?.bytes ?? 0;
  const now = useServerNow();
  const isSilent = run.heartbeat_at !== null && Date.parse(run.heartbeat_at) + SILENT_MS < now;
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Text size="sm">
          {linked && (
            <>
              <Anchor component={Link} to={`/runs/${run.id}`} inherit underline="always">
                Run #{run.id}
              </Anchor>{' '}
              is under way:{' '}
            </>
          )}
          {formatCount(done)} of {countOf(run.total_repos, 'repository', 'repositories')} done
        </Text>
        <Text size="sm" c="dimmed">
          {received > 0 && `${formatBytes(received)} received, `}
          started <Age of={run.started_at} />
        </Text>
      </Group>
      <Progress
        value={run.total_repos === 0 ? 0 : (100 * done) / run.total_repos}
        animated={!isSilent}
        color={isSilent ? 'orange' : undefined}
        aria-label="Repositories done"
      />
      {!isSilent &&
        run.progress?.active.map((active) => (
          <ActiveRepository key={active.repository} active={active} />
        ))}
      {isSilent && run.heartbeat_at !== null && (
        <Text size="sm">
          The worker was last heard from <Age of={run.heartbeat_at} />. It may have stopped.
        </Text>
      )}
    </Stack>
  );
}

/** A repository that is being backed up: what git is doing, and its progress. */
function ActiveRepository({
  active: { repository, phase, percent, bytes },
}: {
  active: NonNullable<Running['progress']>['active'][number];
}) {
  return (
    <Group justify="space-between" gap="0 var(--mantine-spacing-xs)">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <bdi>{repository}</bdi>
      </Text>
      <Text size="sm" c="dimmed">
        {[
          phase,
          ...(percent === null ? [] : [`${percent}%`]),
          ...(bytes === null ? [] : [formatBytes(bytes)]),
        ].join(', ')}
      </Text>
    </Group>
  );
}
