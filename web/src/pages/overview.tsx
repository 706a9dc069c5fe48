import {
  Alert,
  Anchor,
  Group,
  Progress,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { CheckCircledIcon, ExclamationTriangleIcon, UpdateIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { Schemas } from '../api/client.ts';
import { latestRun, metrics, run as runQuery, stats } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { NoBackups } from '../parts/empty.tsx';
import { Figure } from '../parts/figure.tsx';
import { countOf, formatCount, formatDuration } from '../parts/format.ts';
import { Loaded } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { RunStrip } from '../parts/run-strip.tsx';
import { judge, lastFinished, lastGood, type Run, type Verdict } from './verdict.ts';

const DAYS = 90;

// The charts are most of the page's weight, and below what a person looks at first.
const DurationChart = lazy(() => import('../parts/duration-chart.tsx'));

export function OverviewPage() {
  return (
    <Page title="Overview">
      <Loaded query={useQuery(metrics(DAYS))} lines={6}>
        {({ runs }) => <Overview runs={runs} />}
      </Loaded>
    </Page>
  );
}

function Overview({ runs }: { runs: readonly Run[] }) {
  const latest = useQuery(latestRun);
  const totals = useQuery(stats);
  if (latest.data === null) return <NoBackups />;
  const good = lastGood(runs);
  const finished = lastFinished(runs);
  return (
    <Stack gap="lg">
      <Truth verdict={judge(runs, Date.now())} />
      {latest.data?.status === 'running' && <Running run={latest.data} />}
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <Figure
          label="Last good run"
          value={good ? <Age of={good.started_at} /> : 'none'}
          note={`in the last ${DAYS} days`}
          bad={good === null}
        />
        <Figure
          label="Repositories"
          value={totals.data ? formatCount(totals.data.distinct_repos) : '–'}
          note="with at least one result"
        />
        <Figure
          label="Failed in the last run"
          value={finished ? formatCount(finished.failed) : '–'}
          bad={(finished?.failed ?? 0) > 0}
        />
        <Figure
          label="A run takes"
          value={totals.data ? formatDuration(totals.data.avg_duration_ms) : '–'}
          note="on average"
        />
      </SimpleGrid>
      <Stack gap="xs">
        <Title order={2} size="h4">
          The last {DAYS} days
        </Title>
        <RunStrip runs={runs} days={DAYS} />
      </Stack>
      {finished !== null && finished.failed > 0 && <FailedRepositories id={finished.id} />}
      <Stack gap="xs">
        <Title order={2} size="h4">
          How long runs take
        </Title>
        <Suspense fallback={<Skeleton height={220} />}>
          <DurationChart runs={runs} />
        </Suspense>
      </Stack>
    </Stack>
  );
}

const looks = {
  good: { color: 'teal', icon: <CheckCircledIcon /> },
  bad: { color: 'red', icon: <ExclamationTriangleIcon /> },
  unsure: { color: 'blue', icon: <UpdateIcon /> },
};

/** The one sentence to read. */
function Truth({ verdict: { state, sentence, run } }: { verdict: Verdict }) {
  const { color, icon } = looks[state];
  return (
    <Alert color={color} icon={icon} role="status" aria-label="State of the backups">
      <Group justify="space-between">
        <Text fw={600}>{sentence}</Text>
        {run !== null && (
          <Anchor component={Link} to={`/runs/${run}`} size="sm" c="inherit" underline="always">
            See run #{run}
          </Anchor>
        )}
      </Group>
    </Alert>
  );
}

function Running({ run }: { run: Schemas['BackupRun'] }) {
  const done = run.successful + run.skipped + run.failed;
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Text size="sm">
          <Anchor component={Link} to={`/runs/${run.id}`} inherit>
            Run #{run.id}
          </Anchor>{' '}
          is under way: {formatCount(done)} of{' '}
          {countOf(run.total_repos, 'repository', 'repositories')} done
        </Text>
        <Text size="sm" c="dimmed">
          started <Age of={run.started_at} />
        </Text>
      </Group>
      <Progress
        value={run.total_repos === 0 ? 0 : (100 * done) / run.total_repos}
        animated
        aria-label="Repositories done"
      />
    </Stack>
  );
}

/** What failed in a run, with the reason. */
function FailedRepositories({ id }: { id: number }) {
  const MAX_SHOWN = 20;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Failed in the last run
      </Title>
      <Loaded query={useQuery(runQuery(id))}>
        {({ results }) => {
          const failed = results.filter(({ status }) => status === 'failed');
          return (
            <Stack gap="xs">
              {failed.slice(0, MAX_SHOWN).map((result) => (
                <Alert
                  key={result.id}
                  color="red"
                  variant="light"
                  title={<bdi>{result.repo_full_name}</bdi>}
                >
                  <Text size="sm" lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
                    {result.error_message || 'No reason was recorded.'}
                  </Text>
                </Alert>
              ))}
              {failed.length > MAX_SHOWN && (
                <Anchor component={Link} to={`/runs/${id}`}>
                  All {formatCount(failed.length)}
                </Anchor>
              )}
            </Stack>
          );
        }}
      </Loaded>
    </Stack>
  );
}
