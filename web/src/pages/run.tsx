import { Alert, Anchor, Code, Group, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { logs, run } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { Figure } from '../parts/figure.tsx';
import {
  countOf,
  formatArchiveSize,
  formatCount,
  formatDuration,
  formatTime,
} from '../parts/format.ts';
import { Loaded } from '../parts/loading.tsx';
import { LogLines } from '../parts/log-lines.tsx';
import { Page } from '../parts/page.tsx';
import { usePages } from '../parts/pages.tsx';
import { RecordTable, useSorted } from '../parts/record-table.tsx';
import { Remarks } from '../parts/remarks.tsx';
import { RepositoryLink } from '../parts/repository-link.tsx';
import { RunProgress } from '../parts/run-progress.tsx';
import { OutcomeBadge, outcomeOfResult, outcomeOfRun } from '../parts/status.tsx';
import { Diagnosis } from './diagnosis.tsx';
import { Fixes } from './fixes.tsx';
import { StopRun } from './stop-run.tsx';

type Result = Schemas['BackupResult'];

const LOG_REFRESH_MS = 1_000;

export function RunPage() {
  const id = Number(useParams({ from: '/shell/runs/$id' }).id);
  const query = useQuery(run(id));
  return (
    <Page
      title={`Run #${id}`}
      tabTitle={query.data && describeForTab(query.data.run)}
      aside={
        query.data && (
          <OutcomeBadge
            outcome={outcomeOfRun(query.data.run, query.data.run.unread_sources.length)}
          />
        )
      }
    >
      <Loaded query={query}>
        {({ run, results }) => <RunDetails run={run} results={results} />}
      </Loaded>
    </Page>
  );
}

/** What the tab of the browser says: how far the run is, or how it ended. */
function describeForTab(run: Schemas['BackupRun']): string {
  if (run.status !== 'running')
    return `${outcomeOfRun(run, run.unread_sources.length).word}: run #${run.id}`;
  const done = run.successful + run.skipped + run.failed;
  return `${formatCount(done)} of ${formatCount(run.total_repos)}: run #${run.id}`;
}

function RunDetails({ run, results }: { run: Schemas['BackupRun']; results: readonly Result[] }) {
  const hasFailures =
    (run.status === 'failed' && !run.is_stopped) || run.failed > 0 || run.unread_sources.length > 0;
  return (
    <Stack gap="lg">
      {run.status === 'running' && (
        <>
          <RunProgress run={run} />
          <Group justify="flex-end">
            <StopRun id={run.id} />
          </Group>
        </>
      )}
      {run.status === 'failed' && (
        <Alert
          color={run.is_stopped ? 'blue' : 'red'}
          title={run.is_stopped ? 'The run was stopped' : 'The run failed'}
        >
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {run.error_message || 'No reason was recorded.'}
          </Text>
        </Alert>
      )}
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label="Backed up" value={formatCount(run.successful)} />
        <Figure label="Unchanged" value={formatCount(run.skipped)} />
        <Figure label="Failed" value={formatCount(run.failed)} bad={run.failed > 0} />
        <Figure
          label="Duration"
          value={run.status === 'running' ? '–' : formatDuration(run.duration_ms)}
          note={`started ${formatTime(run.started_at)}`}
        />
      </SimpleGrid>
      <UnreadSources sources={run.unread_sources} />
      <Failures results={results.filter(({ status }) => isFailure(status))} />
      {hasFailures && run.status !== 'running' && <Diagnosis run={run.id} />}
      <Fixes run={run.id} canRecord={hasFailures} />
      <ArchivedResults results={results.filter(({ status }) => !isFailure(status))} />
      <RunLogs id={run.id} isRunning={run.status === 'running'} />
    </Stack>
  );
}

const isFailure = (status: Result['status']) => status === 'failed' || status === 'too_large';

/** Sources that were never read: they are no repositories, and not counted above. */
function UnreadSources({ sources }: { sources: Schemas['BackupRun']['unread_sources'] }) {
  if (sources.length === 0) return null;
  return (
    <Alert color="red" title={`${countOf(sources.length, 'source', 'sources')} could not be read`}>
      <Stack gap="xs">
        {sources.map(({ source, reason }) => (
          <Text key={source} size="sm" style={{ overflowWrap: 'anywhere' }}>
            <Code>
              <bdi>{source}</bdi>
            </Code>
            : <bdi>{reason}</bdi>
          </Text>
        ))}
        <Text size="sm">
          Nothing was ever read there, so it does not count as a repository. Correct the path or
          address where the run is started.
        </Text>
      </Stack>
    </Alert>
  );
}

/** Failed repositories, grouped by error. */
function Failures({ results }: { results: readonly Result[] }) {
  const groups = [...Map.groupBy(results, ({ error_message }) => error_message)].sort(
    ([, a], [, b]) => b.length - a.length,
  );
  const [shown, pages] = usePages(groups);
  if (results.length === 0) return null;
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        Failed
      </Title>
      {shown.map(([error, failed]) => (
        <FailureGroup key={error} error={error} failed={failed} />
      ))}
      {pages}
    </Stack>
  );
}

function FailureGroup({ error, failed }: { error: string; failed: readonly Result[] }) {
  const [shown, pages] = usePages(failed);
  return (
    <Alert color="red" title={countOf(failed.length, 'repository', 'repositories')}>
      <Text size="sm" mb="xs" style={{ overflowWrap: 'anywhere' }}>
        {error || 'No reason was recorded.'}
      </Text>
      <Group gap="xs">
        {shown.map(({ id, repo_full_name }) => (
          <Text key={id} size="sm" ff="monospace">
            <RepositoryLink name={repo_full_name} onTint />
          </Text>
        ))}
      </Group>
      {pages}
    </Alert>
  );
}

const resultOrders = {
  Repository: ({ repo_full_name }: Result) => repo_full_name,
  Archive: ({ archive_size_bytes }: Result) => archive_size_bytes,
  Duration: ({ duration_ms }: Result) => duration_ms,
  When: ({ created_at }: Result) => Date.parse(created_at),
};

function ArchivedResults({ results }: { results: readonly Result[] }) {
  const [sorted, sorting] = useSorted(results, resultOrders);
  const [shown, pages] = usePages(sorted);
  if (results.length === 0) return null;
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        Archived
      </Title>
      <RecordTable
        minWidth={520}
        heads={['Repository', 'Outcome', 'Commit', 'Archive', 'Duration', 'When']}
        numbers={['Archive', 'Duration']}
        sorting={sorting}
      >
        {shown.map((result) => (
          <Table.Tr key={result.id}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <RepositoryLink name={result.repo_full_name} />
            </Table.Td>
            <Table.Td>
              <OutcomeBadge outcome={outcomeOfResult(result.status)} />
              <Remarks result={result} />
            </Table.Td>
            <Table.Td>
              {result.commit_hash && <Code>{result.commit_hash.slice(0, 10)}</Code>}
            </Table.Td>
            <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
              {formatArchiveSize(result.archive_size_bytes)}
            </Table.Td>
            <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
              {formatDuration(result.duration_ms)}
            </Table.Td>
            <Table.Td>
              <Age of={result.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </RecordTable>
      {pages}
    </Stack>
  );
}

function RunLogs({ id, isRunning }: { id: number; isRunning: boolean }) {
  const refetchInterval = isRunning ? LOG_REFRESH_MS : false;
  const query = useQuery({ ...logs({ run_id: id, page: 1 }), refetchInterval });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Log
        </Title>
        <Anchor
          size="sm"
          renderRoot={(props) => <Link {...props} to="/logs" search={{ run: id }} />}
        >
          Full log, with filters
        </Anchor>
      </Group>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">This run wrote no log lines.</Text>
          ) : (
            <LogLines logs={data.toReversed()} />
          )
        }
      </Loaded>
    </Stack>
  );
}
