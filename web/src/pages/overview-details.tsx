import { Alert, Anchor, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, lazy, Suspense } from 'react';
import type { Schemas } from '../api/client.ts';
import { objectives } from '../api/objectives.ts';
import {
  archiveFolder,
  incidents as incidentsQuery,
  openAnomalies,
  type RepositoriesQuery,
} from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { Attained } from '../parts/attained.tsx';
import { Figure, NoteLink, type Place } from '../parts/figure.tsx';
import {
  countOf,
  formatBytes,
  formatCount,
  formatDuration,
  nameOfStorage,
} from '../parts/format.ts';
import { RepositoryLink } from '../parts/repository-link.tsx';
import { RunProgress } from '../parts/run-progress.tsx';
import { OutcomeBadge, outcomeOfState } from '../parts/status.tsx';
import { useServerNow } from '../parts/use-server-now.ts';
import { LastRuns } from './last-runs.tsx';

// Loaded on demand: most installations have none to confirm.
const Anomalies = lazy(async () => ({
  default: (await import('./anomalies.tsx')).Anomalies,
}));
const SHOWN_ANOMALIES = 5;
const SHOWN_INCIDENTS = 3;

/** The details behind the sentence of the overview. */
export default function OverviewDetails({ overview }: { overview: Schemas['Overview'] }) {
  const {
    repositories,
    worst,
    failed_drills,
    proofs,
    running,
    last_good_run,
    next_run_expected_at,
  } = overview;
  const missing = repositories.total - repositories.good;
  return (
    <>
      {overview.incidents.open > 0 && <OpenIncidents total={overview.incidents.open} />}
      {running && <RunProgress run={running} linked />}
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        <Figure
          label="Good repositories"
          value={`${formatCount(repositories.good)} of ${formatCount(repositories.total)}`}
          note={`a good backup within ${overview.freshness_hours} hours`}
          bad={missing > 0}
          place={{ to: '/repositories' }}
        />
        <Figure
          label="Last run without failures"
          value={last_good_run ? <Age of={last_good_run.started_at} /> : 'none'}
          bad={last_good_run === null}
          place={
            last_good_run
              ? { to: '/runs/$id', params: { id: String(last_good_run.id) } }
              : { to: '/runs' }
          }
        />
        <Proofs proofs={proofs} total={repositories.total} days={overview.proof_days} />
        <NextRun
          at={next_run_expected_at}
          lateAt={overview.next_run_late_at}
          usualMs={overview.usual_interval_ms}
          isDeclared={overview.is_interval_declared}
          isScheduled={overview.is_scheduled}
        />
        <OffSite copies={overview.off_site} />
        <Storage bytes={overview.current_archive_bytes} />
      </SimpleGrid>
      {worst.length + failed_drills.length > 0 && (
        <NeedsAttention
          repositories={worst}
          drills={failed_drills}
          missing={missing}
          failing={proofs.failing}
        />
      )}
      <ObjectivesOfGroups />
      <ToConfirm />
      <LastRuns running={running?.id ?? null} />
    </>
  );
}

/** The first open incidents, and since when; the page of incidents has the rest. */
function OpenIncidents({ total }: { total: number }) {
  const { data } = useQuery(incidentsQuery({ page: 1, state: 'open' }));
  if (!data) return null;
  return (
    <Stack gap={4} component="section" aria-label="Open incidents">
      {data.data.slice(0, SHOWN_INCIDENTS).map(({ id, title, summary, opened_at }) => (
        <Text key={id} size="sm" style={{ overflowWrap: 'anywhere' }}>
          <Text span inherit fw={600}>
            {title}
          </Text>
          , <Age of={opened_at} />: <bdi>{summary}</bdi>
        </Text>
      ))}
      {total > SHOWN_INCIDENTS && (
        <Text size="sm" c="dimmed">
          and{' '}
          <NoteLink place={{ to: '/incidents' }}>
            {formatCount(total - SHOWN_INCIDENTS)} more
          </NoteLink>
        </Text>
      )}
    </Stack>
  );
}

/** How far the objectives of groups were attained; nothing if there are none. */
function ObjectivesOfGroups() {
  const { data } = useQuery(objectives);
  if (!data || data.data.length === 0) return null;
  return (
    <Stack gap="xs" component="section" aria-label="Objectives">
      <Title order={2} size="h4">
        <Anchor
          inherit
          renderRoot={(props) => <Link to="/settings" search={{ tab: 'objectives' }} {...props} />}
        >
          Objectives
        </Anchor>
      </Title>
      {data.data.map((objective) => (
        <div key={objective.id}>
          <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
            <bdi>{objective.name}</bdi>
          </Text>
          <Attained objective={objective} />
        </div>
      ))}
    </Stack>
  );
}

/** How many repositories are proven restorable. A failed or overdue proof is a reason to worry, a missing one is not. */
function Proofs({
  proofs,
  total,
  days,
}: {
  proofs: Schemas['Overview']['proofs'];
  total: number;
  days: number;
}) {
  const { proven, overdue, failing } = proofs;
  return (
    <Figure
      label="Proven restorable"
      value={`${formatCount(proven)} of ${formatCount(total)}`}
      note={
        failing > 0 ? (
          <NoteLink place={{ to: '/repositories', search: { proof: 'failing' } }}>
            {formatCount(failing)} failed a drill
          </NoteLink>
        ) : (
          `in the last ${days} days`
        )
      }
      bad={failing > 0 || overdue > 0}
      place={{ to: '/repositories', search: { order: 'proof' } }}
    />
  );
}

/** How many repositories have their newest version away from the worker's machine. Without stores, that is no fault. */
function OffSite({ copies }: { copies: Schemas['Overview']['off_site'] }) {
  const label = 'Copied off-site';
  if (copies === null) return <Figure label={label} value="–" note="no store is in use" />;
  const { stores, repositories, current, behind, missing, failing } = copies;
  const copiesThatAre = (off_site: RepositoriesQuery['off_site']): Place => ({
    to: '/repositories',
    search: { off_site },
  });
  const parts = [
    { count: failing, what: 'refused by a store', place: copiesThatAre('failing') },
    { count: behind, what: 'behind', place: copiesThatAre('behind') },
    { count: missing, what: 'nowhere else', place: copiesThatAre('missing') },
  ].filter(({ count }) => count > 0);
  return (
    <Figure
      label={label}
      value={`${formatCount(current)} of ${formatCount(repositories)}`}
      note={
        parts.length === 0
          ? `in ${countOf(stores, 'store', 'stores')}`
          : parts.map(({ count, what, place }, index) => (
              <Fragment key={what}>
                {index > 0 && ', '}
                <NoteLink place={place}>
                  {formatCount(count)} {what}
                </NoteLink>
              </Fragment>
            ))
      }
      bad={parts.length > 0}
      place={copiesThatAre('current')}
    />
  );
}

function NextRun({
  at,
  lateAt,
  usualMs,
  isDeclared,
  isScheduled,
}: {
  at: string | null;
  lateAt: string | null;
  usualMs: number | null;
  isDeclared: boolean;
  isScheduled: boolean;
}) {
  const now = useServerNow();
  if (at === null || (usualMs === null && !isScheduled)) {
    const note = isDeclared ? 'known after the first run' : 'known after three runs';
    return <Figure label="Next run" value="–" note={note} />;
  }
  const inMs = Date.parse(at) - now;
  const isLate = lateAt !== null && Date.parse(lateAt) < now;
  return (
    <Figure
      label={isLate ? 'Next run was expected' : 'Next run expected'}
      value={inMs > 0 && inMs < 60_000 ? 'within a minute' : <Age of={at} />}
      note={
        isScheduled
          ? 'by the schedule'
          : `${isDeclared ? 'scheduled' : 'usually'} every ${formatDuration(usualMs ?? 0)}`
      }
      bad={isLate}
      place={{ to: '/runs' }}
    />
  );
}

function Storage({ bytes }: { bytes: number }) {
  const { data } = useQuery({ ...archiveFolder, refetchInterval: 60_000 });
  return (
    <Figure
      label="All archives"
      value={formatBytes(bytes)}
      note={data ? `${formatBytes(data.available_disk_bytes)} free` : undefined}
      place={{ to: '/repositories', search: { order: 'size' } }}
    />
  );
}

/** The anomalies that hold back pruning until someone confirms them. */
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
          <NoteLink place={{ to: '/anomalies' }}>{formatCount(total)} in total</NoteLink>; the
          newest are shown.
        </Text>
      )}
    </Stack>
  );
}

/** Repositories that are not good, worst first, then failed restore drills, each with the reason and since when. */
function NeedsAttention({
  repositories,
  drills,
  missing,
  failing,
}: {
  repositories: readonly Schemas['TrackedRepository'][];
  drills: readonly Schemas['FailedDrill'][];
  missing: number;
  /** How many repositories failed a restore drill, in total. */
  failing: number;
}) {
  return (
    <Stack gap="xs" component="section" aria-label="Needs attention">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Needs attention
        </Title>
        {missing > repositories.length && (
          <Anchor component={Link} to="/repositories" size="sm">
            See all {formatCount(missing)}
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
                  'no good backup yet'
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
      {drills.map(({ full_name, at, storage, reason }) => (
        <Alert key={`drill of ${full_name}`} color="red" variant="light">
          <Group justify="space-between" gap="xs" mb={4}>
            <Text fw={600} size="sm">
              <RepositoryLink name={full_name} onTint />
            </Text>
            <Text size="sm">
              restore drill from <bdi>{nameOfStorage(storage)}</bdi> failed <Age of={at} />
            </Text>
          </Group>
          <Text size="sm" lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
            {reason}
          </Text>
        </Alert>
      ))}
      {failing > drills.length && (
        <Text size="sm" c="dimmed">
          In total,{' '}
          <NoteLink place={{ to: '/repositories', search: { proof: 'failing' } }}>
            {formatCount(failing)} repositories
          </NoteLink>{' '}
          failed a restore drill.
        </Text>
      )}
    </Stack>
  );
}
