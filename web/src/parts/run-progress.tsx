import { Anchor, Group, Progress, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { Age } from './age.tsx';
import { countOf, formatBytes, formatCount } from './format.ts';

type Running = NonNullable<Schemas['Overview']['running']>;

/** The worker writes a sign of life every 30 seconds. */
const SILENT_MS = 3 * 60_000;

/** How far a run is. */
export function RunProgress({ run, linked = false }: { run: Running; linked?: boolean }) {
  const done = run.successful + run.skipped + run.failed;
  const received = run.progress?.bytes ?? 0;
  const isSilent =
    run.heartbeat_at !== null && Date.parse(run.heartbeat_at) + SILENT_MS < Date.now();
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Text size="sm">
          {linked && (
            <>
              <Anchor component={Link} to={`/runs/${run.id}`} inherit>
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
          The worker was last heard of <Age of={run.heartbeat_at} />. It may have been stopped.
        </Text>
      )}
    </Stack>
  );
}

/** A repository that is being backed up: what git does, and how far it is. */
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
          ...(percent === null ? [] : [`${percent} %`]),
          ...(bytes === null ? [] : [formatBytes(bytes)]),
        ].join(', ')}
      </Text>
    </Group>
  );
}
