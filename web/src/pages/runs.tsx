import { Anchor, Switch, Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { type RunsQuery, runs } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { Empty } from '../parts/empty.tsx';
import { formatCount, formatDuration } from '../parts/format.ts';
import { Loaded } from '../parts/loading.tsx';
import { NoBackups } from '../parts/no-backups.tsx';
import { Page } from '../parts/page.tsx';
import { Pages } from '../parts/pages.tsx';
import { RecordTable, type Sorting } from '../parts/record-table.tsx';
import { OutcomeBadge, outcomeOfRun } from '../parts/status.tsx';

export function RunsPage() {
  const { page = 1, ...filters } = useSearch({ from: '/shell/runs' });
  const { failures, order = 'newest', reverse } = filters;
  const navigate = useNavigate({ from: '/runs' });
  const sorting: Sorting = {
    orders: { Started: 'newest', Failed: 'failures', Duration: 'longest' },
    descending: ['newest', 'failures', 'longest'],
    ...{ order, isReverse: reverse === true },
    onSort: (order, isReverse) =>
      void navigate({
        search: (now) => ({
          ...(now.failures ? { failures: true } : {}),
          order: order as RunsQuery['order'],
          ...(isReverse ? { reverse: true } : {}),
        }),
      }),
  };
  return (
    <Page
      title="Runs"
      aside={
        <Switch
          label="Failures only"
          checked={failures === true}
          onChange={({ currentTarget: { checked } }) =>
            void navigate({
              search: ({ page: _, failures: __, ...kept }) =>
                checked ? { ...kept, failures: true } : kept,
            })
          }
        />
      }
    >
      <Loaded
        query={useQuery(
          runs({ page, order, reverse, ...(failures ? { has_failures: true } : {}) }),
        )}
        lines={8}
      >
        {({ data, pagination }) =>
          data.length === 0 && failures ? (
            <Empty title="No failures">No run failed, and no repository failed in any run.</Empty>
          ) : data.length === 0 ? (
            <NoBackups />
          ) : (
            <>
              <RunsTable runs={data} sorting={sorting} />
              <Pages
                of={pagination}
                onChange={(page) => navigate({ search: { ...filters, page } })}
              />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function RunsTable({ runs, sorting }: { runs: readonly Schemas['BackupRun'][]; sorting: Sorting }) {
  return (
    <RecordTable
      minWidth={560}
      heads={['Run', 'Started', 'Outcome', 'Backed up', 'Unchanged', 'Failed', 'Duration']}
      numbers={['Backed up', 'Unchanged', 'Failed', 'Duration']}
      sorting={sorting}
      highlightOnHover
    >
      {runs.map((run) => (
        <Table.Tr key={run.id}>
          <Table.Td>
            <Anchor component={Link} to={`/runs/${run.id}`}>
              #{run.id}
            </Anchor>
          </Table.Td>
          <Table.Td>
            <Age of={run.started_at} />
          </Table.Td>
          <Table.Td>
            <OutcomeBadge outcome={outcomeOfRun(run, run.unread_sources.length)} />
          </Table.Td>
          <Table.Td ta="right">{formatCount(run.successful)}</Table.Td>
          <Table.Td ta="right">{formatCount(run.skipped)}</Table.Td>
          <Table.Td ta="right">{formatCount(run.failed)}</Table.Td>
          <Table.Td ta="right">
            {run.status === 'running' ? '–' : formatDuration(run.duration_ms)}
          </Table.Td>
        </Table.Tr>
      ))}
    </RecordTable>
  );
}
