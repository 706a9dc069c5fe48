import { Alert, Anchor, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { CheckCircledIcon, ExclamationTriangleIcon, UpdateIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef } from 'react';
import type { Schemas } from '../api/client.ts';
import {
  metrics,
  OVERVIEW_DAYS,
  openAnomalies,
  overview as overviewQuery,
  toolResult,
} from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { DayStrip } from '../parts/day-strip.tsx';
import { NoBackups } from '../parts/empty.tsx';
import { Figure } from '../parts/figure.tsx';
import { formatBytes, formatCount, formatDuration } from '../parts/format.ts';
import { InView } from '../parts/in-view.tsx';
import { Loaded } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { RepositoryLink } from '../parts/repository-link.tsx';
import { RunProgress } from '../parts/run-progress.tsx';
import { OutcomeBadge, outcomeOfRun, outcomeOfState } from '../parts/status.tsx';
import { usePainted } from '../parts/use-painted.ts';
import { BackUpNow } from './back-up-now.tsx';
import { judge, type Run, type Verdict } from './verdict.ts';

// The charts are most of the page's weight, and below what a person looks at first.
const DurationChart = lazy(() => import('../parts/duration-chart.tsx'));
const SizeChart = lazy(() => import('../parts/size-chart.tsx'));
const Anomalies = lazy(async () => ({
  default: (await import('./anomalies.tsx')).Anomalies,
}));
const CHART_HEIGHT = 220;
const SHOWN_ANOMALIES = 5;

export function OverviewPage() {
  const runs = useQuery(metrics(OVERVIEW_DAYS));
  const overview = useQuery(overviewQuery);
  const hasRepositories = (overview.data?.repositories.total ?? 0) > 0;
  const isPainted = usePainted();
  useOnChange(overview.data && (overview.data.running?.id ?? null), runs.refetch);
  return (
    <Page title="Overview" aside={isPainted && hasRepositories && <BackUpNow target={null} />}>
      <Loaded query={overview} lines={6}>
        {(overview) =>
          overview.repositories.total === 0 && overview.running === null ? (
            <NoBackups />
          ) : (
            <Loaded query={runs} lines={6}>
              {({ runs }) => <Overview overview={overview} runs={runs} />}
            </Loaded>
          )
        }
      </Loaded>
    </Page>
  );
}

/** Calls a function when a run begins or ends, so that the days and charts know it too. */
function useOnChange(running: number | null | undefined, react: () => unknown): void {
  const before = useRef(running);
  useEffect(() => {
    if (before.current !== undefined && before.current !== running) react();
    before.current = running;
  }, [running, react]);
}

interface OverviewProps {
  overview: Schemas['Overview'];
  runs: readonly Run[];
}

function Overview({ overview, runs }: OverviewProps) {
  // The sentence comes before all else, which takes longer to draw.
  const isPainted = usePainted();
  return (
    <Stack gap="lg">
      <Truth verdict={judge(overview, runs, Date.now())} incidents={overview.incidents.open} />
      {isPainted && <Details overview={overview} runs={runs} />}
    </Stack>
  );
}

/** What the sentence sums up. */
function Details({ overview, runs }: OverviewProps) {
  const { repositories, worst, running, last_good_run, next_run_expected_at } = overview;
  const missing = repositories.total - repositories.good;
  return (
    <>
      {running && <RunProgress run={running} linked />}
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3, lg: 5 }}>
        <Figure
          label="Good repositories"
          value={`${formatCount(repositories.good)} of ${formatCount(repositories.total)}`}
          note={`a good backup within ${overview.freshness_hours} hours`}
          bad={missing > 0}
        />
        <Figure
          label="Last run without failures"
          value={last_good_run ? <Age of={last_good_run.started_at} /> : 'none'}
          bad={last_good_run === null}
        />
        <Proofs proofs={overview.proofs} total={repositories.total} />
        <NextRun
          at={next_run_expected_at}
          usualMs={overview.usual_interval_ms}
          isDeclared={overview.is_interval_declared}
        />
        <Storage bytes={overview.current_archive_bytes} />
      </SimpleGrid>
      {worst.length > 0 && <Worst repositories={worst} missing={missing} />}
      <ToConfirm />
      <Stack gap="xs">
        <Title order={2} size="h4">
          The last {OVERVIEW_DAYS} days
        </Title>
        <DayStrip
          days={OVERVIEW_DAYS}
          events={runs.map((run) => ({
            at: run.started_at,
            run: run.id,
            outcome: outcomeOfRun(run),
          }))}
        />
      </Stack>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Stack gap="xs">
          <Title order={2} size="h4">
            How long runs take
          </Title>
          <InView height={CHART_HEIGHT}>
            <Suspense fallback={<Skeleton height={CHART_HEIGHT} />}>
              <DurationChart runs={runs} />
            </Suspense>
          </InView>
        </Stack>
        <Stack gap="xs">
          <Title order={2} size="h4">
            Size of all archives
          </Title>
          <InView height={CHART_HEIGHT}>
            <Suspense fallback={<Skeleton height={CHART_HEIGHT} />}>
              <SizeChart />
            </Suspense>
          </InView>
        </Stack>
      </SimpleGrid>
    </>
  );
}

const looks = {
  good: { color: 'teal', icon: <CheckCircledIcon /> },
  bad: { color: 'red', icon: <ExclamationTriangleIcon /> },
  unsure: { color: 'blue', icon: <UpdateIcon /> },
};

/** The one sentence to read. */
function Truth({
  verdict: { state, sentence, run },
  incidents,
}: {
  verdict: Verdict;
  incidents: number;
}) {
  const { color, icon } = looks[state];
  return (
    <Alert color={color} icon={icon} role="status" aria-label="State of the backups">
      <Group justify="space-between">
        <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
          <bdi>{sentence}</bdi>
        </Text>
        <Group gap="md">
          {incidents > 0 && (
            <Anchor component={Link} to="/incidents" size="sm" c="inherit" underline="always">
              See incidents
            </Anchor>
          )}
          {run !== null && (
            <Anchor component={Link} to={`/runs/${run}`} size="sm" c="inherit" underline="always">
              See run #{run}
            </Anchor>
          )}
        </Group>
      </Group>
    </Alert>
  );
}

/** How many a restore drill has proven. What is not proven yet is no reason to worry, what failed is. */
function Proofs({ proofs, total }: { proofs: Schemas['Overview']['proofs']; total: number }) {
  const { proven, overdue, failing } = proofs;
  return (
    <Figure
      label="Proven restorable"
      value={`${formatCount(proven)} of ${formatCount(total)}`}
      note={failing > 0 ? `${formatCount(failing)} failed a drill` : 'in the last 30 days'}
      bad={failing > 0 || overdue > 0}
    />
  );
}

function NextRun({
  at,
  usualMs,
  isDeclared,
}: {
  at: string | null;
  usualMs: number | null;
  isDeclared: boolean;
}) {
  if (at === null || usualMs === null) {
    const note = isDeclared ? 'known after the first run' : 'known after three runs';
    return <Figure label="Next run" value="–" note={note} />;
  }
  const isLate = Date.parse(at) + usualMs / 2 < Date.now();
  return (
    <Figure
      label={isLate ? 'Next run was expected' : 'Next run expected'}
      value={<Age of={at} />}
      note={`${isDeclared ? 'declared:' : 'usually'} every ${formatDuration(usualMs)}`}
      bad={isLate}
    />
  );
}

function Storage({ bytes }: { bytes: number }) {
  const { data } = useQuery({ ...toolResult('get_system_health'), refetchInterval: 60_000 });
  const free = (data?.storage as { available_disk_bytes?: number | null } | undefined)
    ?.available_disk_bytes;
  return (
    <Figure
      label="All archives"
      value={formatBytes(bytes)}
      note={typeof free === 'number' ? `${formatBytes(free)} free` : undefined}
    />
  );
}

/** What holds back pruning until somebody confirms it. */
function ToConfirm() {
  const { data } = useQuery(openAnomalies(SHOWN_ANOMALIES));
  if (!data || data.data.length === 0) return null;
  const { total_items: total } = data.pagination;
  return (
    <Stack gap="xs" component="section" aria-label="To confirm">
      <Title order={2} size="h4">
        To confirm
      </Title>
      <Suspense fallback={<Skeleton height={120} />}>
        <Anomalies anomalies={data.data} isLinked />
      </Suspense>
      {total > data.data.length && (
        <Text size="sm" c="dimmed">
          {formatCount(total)} in all; the newest are shown.
        </Text>
      )}
    </Stack>
  );
}

/** What is not good, with the reason and since when, worst first. */
function Worst({
  repositories,
  missing,
}: {
  repositories: readonly Schemas['TrackedRepository'][];
  missing: number;
}) {
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Needs attention
        </Title>
        {missing > repositories.length && (
          <Anchor component={Link} to="/repositories" size="sm">
            All {formatCount(missing)}
          </Anchor>
        )}
      </Group>
      {repositories.map(({ full_name, state, last_good_at, failing_since, error_message }) => (
        <Alert key={full_name} color={outcomeOfState(state).color} variant="light">
          <Group justify="space-between" gap="xs" mb={4}>
            <Text fw={600} size="sm">
              <RepositoryLink name={full_name} onTint />
            </Text>
            <Group gap="xs">
              <Text size="sm">
                {failing_since !== null ? (
                  <>
                    first failed <Age of={failing_since} />,{' '}
                  </>
                ) : null}
                {last_good_at === null ? (
                  'never good'
                ) : (
                  <>
                    last good <Age of={last_good_at} />
                  </>
                )}
              </Text>
              <OutcomeBadge outcome={outcomeOfState(state)} />
            </Group>
          </Group>
          <Text size="sm" lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
            {error_message || 'No run backed it up or found it unchanged since then.'}
          </Text>
        </Alert>
      ))}
    </Stack>
  );
}
