import { Alert, Anchor, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { ApiError, type Schemas } from '../../api/client.ts';
import {
  archive as archiveQuery,
  history,
  type RepositoryPath,
  repository as repositoryQuery,
} from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { DayStrip } from '../../parts/day-strip.tsx';
import { Figure } from '../../parts/figure.tsx';
import { describeArchiveSize, formatCount } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Page } from '../../parts/page.tsx';
import { OutcomeBadge, outcomeOfResult, outcomeOfState } from '../../parts/status.tsx';
import { BackUpNow } from '../back-up-now.tsx';
import { RepositoryAnomalies } from './anomalies.tsx';
import { RepositoryArchive } from './archive.tsx';
import { RepositoryDrills } from './drills.tsx';
import { Forget, Forgotten } from './forgotten.tsx';
import { RepositoryHistory } from './history.tsx';
import { RepositoryIncidents } from './incidents.tsx';
import { RepositoryLosses } from './losses.tsx';
import { RepositoryStores } from './stores.tsx';
import { RepositoryVersions } from './versions.tsx';

const SizesOverTime = lazy(async () => ({
  default: (await import('../../parts/size-chart.tsx')).SizesOverTime,
}));

const Badges = lazy(async () => ({
  default: (await import('../badges.tsx')).Badges,
}));

const DAYS = 90;
const SHOWN_RESULTS = 500;

export function RepositoryPage() {
  const { owner, name } = useParams({ from: '/shell/repositories/$owner/$name' });
  const path = { owner, name };
  const query = useQuery(repositoryQuery(path));
  return (
    <Page
      title={`${owner}/${name}`}
      aside={
        <Group>
          {query.data && <OutcomeBadge outcome={outcomeOfState(query.data.state)} />}
          <BackUpNow target={`${owner}/${name}`} />
        </Group>
      }
    >
      <Loaded query={query} lines={6}>
        {(repository) => <RepositoryDetails path={path} repository={repository} />}
      </Loaded>
    </Page>
  );
}

function RepositoryDetails({
  path,
  repository,
}: {
  path: RepositoryPath;
  repository: Schemas['RepositoryDetails'];
}) {
  const { state, last_good_at, last_good_version, last_checked_at } = repository;
  const { failing_since, consecutive_failures, forgotten } = repository;
  const { error } = useQuery(archiveQuery(path));
  const isGone = error instanceof ApiError && error.status === 404;
  return (
    <Stack gap="lg">
      {forgotten !== null && <Forgotten path={path} forgotten={forgotten} />}
      {failing_since !== null && (
        <Alert
          color={outcomeOfState(state).color}
          title={state === 'lost' ? 'Lost at its source' : describeFailures(consecutive_failures)}
        >
          {state === 'lost' && (
            <Text size="sm" mb="xs">
              It was deleted, hidden from the login, or emptied. Its backups are kept.
            </Text>
          )}
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {repository.error_message || 'No reason was recorded.'}
          </Text>
          <Text size="sm" mt="xs">
            First failed <Age of={failing_since} />.
          </Text>
          {forgotten === null && <Forget path={path} />}
        </Alert>
      )}
      {state === 'stale' && (
        <Alert color="orange" title="No recent backup">
          {last_good_at !== null && (
            <>
              A run last backed it up or found it unchanged <Age of={last_good_at} />, longer ago
              than the time between runs.{' '}
            </>
          )}
          Is it still one of the worker’s sources?
          {forgotten === null && (
            <div>
              <Forget path={path} />
            </div>
          )}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <Figure
          label="Last good backup"
          value={last_good_at === null ? 'never' : <Age of={last_good_at} />}
          note={last_good_version === null ? 'or found unchanged' : `version ${last_good_version}`}
          bad={state !== 'good'}
        />
        <Figure
          label="Last checked"
          value={last_checked_at === null ? '–' : <Age of={last_checked_at} />}
          note="by a run, whatever the result"
        />
        <Figure label="Archive" value={isGone ? 'none' : describeArchiveSize(repository)} />
        <Figure
          label="Last commit"
          value={repository.last_commit_hash.slice(0, 10) || '–'}
          note={
            <Anchor
              size="xs"
              renderRoot={(props) => (
                <Link {...props} to="/logs" search={{ repository: repository.full_name }} />
              )}
            >
              See its logs
            </Anchor>
          }
        />
      </SimpleGrid>
      <RepositoryIncidents name={`${path.owner}/${path.name}`} />
      <RepositoryLosses losses={repository.would_lose} />
      <RepositoryArchive path={path} wasGood={last_good_at !== null} />
      <RepositoryDrills path={path} repository={repository} />
      <RepositoryVersions path={path} />
      <RepositoryStores path={path} />
      <RepositoryAnomalies path={path} />
      <OverTime path={path} />
      <RepositoryHistory path={path} />
      <Suspense fallback={<Skeleton height={120} />}>
        <Badges repository={repository.full_name} />
      </Suspense>
    </Stack>
  );
}

function describeFailures(count: number): string {
  return count === 1 ? 'The last backup failed' : `The last ${formatCount(count)} backups failed`;
}

/** The days and the size of a repository, from as many results as one response has. */
function OverTime({ path }: { path: RepositoryPath }) {
  return (
    <Loaded query={useQuery(history(path, { page: 1, limit: SHOWN_RESULTS }))} lines={5}>
      {({ data }) => (
        <>
          <Stack gap="xs">
            <Title order={2} size="h4">
              Last {DAYS} days
            </Title>
            <DayStrip
              days={DAYS}
              events={data.toReversed().map((result) => ({
                at: result.created_at,
                run: result.run_id,
                outcome: outcomeOfResult(result.status),
              }))}
            />
            <Text size="sm" c="dimmed">
              Days without a change are empty.
            </Text>
          </Stack>
          <Stack gap="xs">
            <Title order={2} size="h4">
              Size over time
            </Title>
            <Suspense fallback={<Skeleton height={220} />}>
              <SizesOverTime
                points={data
                  .filter(({ archive_size_bytes }) => archive_size_bytes > 0)
                  .map((result) => ({ at: result.created_at, bytes: result.archive_size_bytes }))}
              />
            </Suspense>
          </Stack>
        </>
      )}
    </Loaded>
  );
}
