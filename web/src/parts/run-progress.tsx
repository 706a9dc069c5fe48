import { Anchor, Group, Progress, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { Age } from './age.tsx';
import { countOf, formatCount } from './format.ts';

type Running = NonNullable<Schemas['Overview']['running']>;

/** The worker writes a sign of life every 30 seconds. */
const SILENT_MS = 3 * 60_000;

/** How far a run is. */
export function RunProgress({ run, linked = false }: { run: Running; linked?: boolean }) {
  const done = run.successful + run.skipped + run.failed;
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
          started <Age of={run.started_at} />
        </Text>
      </Group>
      <Progress
        value={run.total_repos === 0 ? 0 : (100 * done) / run.total_repos}
        animated={!isSilent}
        color={isSilent ? 'orange' : undefined}
        aria-label="Repositories done"
      />
      {isSilent && run.heartbeat_at !== null && (
        <Text size="sm">
          The worker was last heard of <Age of={run.heartbeat_at} />. It may have been stopped.
        </Text>
      )}
    </Stack>
  );
}
