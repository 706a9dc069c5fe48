import {
  Alert,
  Anchor,
  Group,
  SimpleGrid,
  Skeleton,
  Stack,
  Tabs,
  Text,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { ApiError, type Schemas } from '../../api/client.ts';
import {
  archive as archiveQuery,
  history,
  type RepositoryPath,
  repository as repositoryQuery,
} from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { Breakable } from '../../parts/breakable.tsx';
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
import { describeKept } from './kept.ts';
import { RepositoryLosses } from './losses.tsx';
import { RepositoryStores } from './stores.tsx';
import { RepositoryVersions } from './versions.tsx';

const SizesOverTime = lazy(async () => ({
  default: (await import('../../parts/size-chart.tsx')).SizesOverTime,
}));

const RepositoryRestore = lazy(async () => ({
  default: (await import('./restore/restore.tsx')).RepositoryRestore,
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
  const { failing_since, consecutive_failures, forgotten, archive } = repository;
  const { error } = useQuery(archiveQuery(path));
  const isGone = error instanceof ApiError && error.status === 404;
  return (
    <Stack gap="lg">
      {repository.source !== null && (
        <Group gap="xs" wrap="nowrap" align="baseline" mt="calc(-1 * var(--mantine-spacing-md))">
          <Text size="sm" c="dimmed" style={{ flex: 'none' }}>
            Read from
          </Text>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            <bdi>
              <Breakable text={repository.source} />
            </bdi>
          </Text>
        </Group>
      )}
      {forgotten !== null && (
        <Forgotten path={path} forgotten={forgotten} kept={describeKept(archive, isGone)} />
      )}
      {failing_since !== null && (
        <Alert
          color={outcomeOfState(state).color}
          title={titles[state] ?? describeFailures(consecutive_failures)}
        >
          {state === 'gone' && (
            <Text size="sm" mb="xs">
              {describeKept(archive)}
            </Text>
          )}
          {state === 'lost' && (
            <Text size="sm" mb="xs">
              It was deleted, hidden from the login, or emptied.{' '}
              {describeKept(repository.archive, isGone)}
            </Text>
          )}
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {repository.error_message || 'No reason was recorded.'}
          </Text>
          <Text size="sm" mt="xs">
            First failed <Age of={failing_since} />.
          </Text>
          {forgotten === null && <Forget path={path} kept={archive} isGone={isGone} />}
        </Alert>
      )}
      {state === 'gone' && failing_since === null && (
        <Alert color="red" title={titles.gone}>
          <Text size="sm">{describeKept(archive)}</Text>
          {forgotten === null && <Forget path={path} kept={archive} isGone={isGone} />}
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
              <Forget path={path} kept={archive} isGone={isGone} />
            </div>
          )}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 2, md: 3, lg: 5 }} spacing={{ base: 'xs', sm: 'md' }}>
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
        <ProofFigure repository={repository} />
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
      <Parts path={path} repository={repository} />
    </Stack>
  );
}

const titles: Partial<Record<Schemas['TrackedRepository']['state'], string>> = {
  lost: 'Lost at its source',
  gone: 'Its archive is gone',
};

const tabs = [
  { value: 'versions', label: 'Versions' },
  { value: 'restore', label: 'Restore' },
  { value: 'drills', label: 'Restore drills' },
  { value: 'copies', label: 'Copies' },
  { value: 'history', label: 'History' },
  { value: 'badges', label: 'Badges' },
] as const;

/** The parts of a repository's backup, in tabs that each have an address. What can be restored comes first. */
function Parts({ path, repository }: PartsProps) {
  const { tab } = useSearch({ from: '/shell/repositories/$owner/$name' });
  const navigate = useNavigate();
  const shown = tabs.find(({ value }) => value === tab) ?? tabs[0];
  return (
    <Tabs
      value={shown.value}
      onChange={(value) =>
        void navigate({
          to: '/repositories/$owner/$name',
          params: path,
          search: value === null ? {} : { tab: value },
          replace: true,
          resetScroll: false,
        })
      }
      keepMounted={false}
    >
      <Tabs.List mb="lg">
        {tabs.map(({ value, label }) => (
          <Tabs.Tab key={value} value={value} px={{ base: 'xs', sm: 'md' }}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={shown.value}>
        <Stack gap="lg">
          <Part name={shown.value} path={path} repository={repository} />
        </Stack>
      </Tabs.Panel>
    </Tabs>
  );
}

interface PartsProps {
  path: RepositoryPath;
  repository: Schemas['RepositoryDetails'];
}

function Part({ name, path, repository }: PartsProps & { name: (typeof tabs)[number]['value'] }) {
  switch (name) {
    case 'versions':
      return (
        <>
          <RepositoryVersions path={path} kept={repository.archive} />
          <RepositoryArchive path={path} wasGood={repository.last_good_at !== null} />
          <RepositoryAnomalies path={path} />
        </>
      );
    case 'restore':
      return (
        <Suspense fallback={<Skeleton height={200} />}>
          <RepositoryRestore path={path} />
        </Suspense>
      );
    case 'drills':
      return <RepositoryDrills path={path} repository={repository} />;
    case 'copies':
      return <RepositoryStores path={path} />;
    case 'history':
      return (
        <>
          <OverTime path={path} />
          <RepositoryHistory path={path} />
        </>
      );
    case 'badges':
      return (
        <Suspense fallback={<Skeleton height={120} />}>
          <Badges repository={repository.full_name} />
        </Suspense>
      );
  }
}

/** Whether the repository is proven restorable; the tab of its restore drills says more. */
function ProofFigure({ repository }: Pick<PartsProps, 'repository'>) {
  const { last_proof, last_drill, last_status } = repository;
  const hasFailed = last_drill?.outcome === 'failed';
  const isEmpty = last_status === 'empty' && last_proof?.version === null;
  return (
    <Figure
      label={isEmpty ? 'Proven to be empty' : 'Proven restorable'}
      value={last_proof === null ? 'never' : <Age of={last_proof.at} />}
      note={hasFailed ? 'a restore drill has failed since' : 'by a restore drill'}
      bad={hasFailed}
    />
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
