import { Anchor, Switch, Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { runs } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { Empty } from '../parts/empty.tsx';
import { formatCount, formatDuration } from '../parts/format.ts';
import { Loaded } from '../parts/loading.tsx';
import { NoBackups } from '../parts/no-backups.tsx';
import { Page } from '../parts/page.tsx';
import { Pages } from '../parts/pages.tsx';
import { RecordTable } from '../parts/record-table.tsx';
import { OutcomeBadge, outcomeOfRun } from '../parts/status.tsx';

export function RunsPage() {
  const { page = 1, failures } = useSearch({ from: '/shell/runs' });
  const navigate = useNavigate();
  return (
    <Page
      title="Runs"
      aside={
        <Switch
          label="Failures only"
          checked={failures === true}
          onChange={({ currentTarget: { checked } }) =>
            void navigate({ to: '/runs', search: checked ? { failures: true } : {} })
          }
        />
      }
    >
      <Loaded
        query={useQuery(runs({ page, ...(failures ? { has_failures: true } : {}) }))}
        lines={8}
      >
        {({ data, pagination }) =>
          data.length === 0 && failures ? (
            <Empty title="No failures">No run failed, and no repository failed in any run.</Empty>
          ) : data.length === 0 ? (
            <NoBackups />
          ) : (
            <>
              <RunsTable runs={data} />
              <Pages
                of={pagination}
                onChange={(page) =>
                  navigate({ to: '/runs', search: { page, ...(failures ? { failures } : {}) } })
                }
              />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

export function RunsTable({ runs }: { runs: readonly Schemas['BackupRun'][] }) {
  return (
    <RecordTable
      minWidth={560}
      heads={['Run', 'Started', 'Outcome', 'Backed up', 'Unchanged', 'Failed', 'Duration']}
      numbers={['Backed up', 'Unchanged', 'Failed', 'Duration']}
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
