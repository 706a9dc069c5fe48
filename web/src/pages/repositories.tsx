import { Code, Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { repositories } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { NoBackups } from '../parts/empty.tsx';
import { formatBytes } from '../parts/format.ts';
import { Loaded } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { Pages } from '../parts/pages.tsx';
import { OutcomeBadge, outcomeOfResult } from '../parts/status.tsx';

export function RepositoriesPage() {
  const { page = 1 } = useSearch({ from: '/shell/repositories' });
  const navigate = useNavigate();
  return (
    <Page title="Repositories">
      <Loaded query={useQuery(repositories(page))} lines={8}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <NoBackups />
          ) : (
            <>
              <RepositoriesTable repositories={data} />
              <Pages
                of={pagination}
                onChange={(page) => navigate({ to: '/repositories', search: { page } })}
              />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function RepositoriesTable({
  repositories,
}: {
  repositories: readonly Schemas['TrackedRepository'][];
}) {
  return (
    <Table.ScrollContainer minWidth={520}>
      <Table verticalSpacing="sm" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Repository</Table.Th>
            <Table.Th>Last result</Table.Th>
            <Table.Th>When</Table.Th>
            <Table.Th>Commit</Table.Th>
            <Table.Th ta="right">Archive</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {repositories.map((repository) => (
            <Table.Tr key={repository.full_name}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <bdi>{repository.full_name}</bdi>
              </Table.Td>
              <Table.Td>
                <OutcomeBadge outcome={outcomeOfResult(repository.last_status)} />
              </Table.Td>
              <Table.Td>
                <Age of={repository.last_backed_up} />
              </Table.Td>
              <Table.Td>
                {repository.last_commit_hash && (
                  <Code>{repository.last_commit_hash.slice(0, 10)}</Code>
                )}
              </Table.Td>
              <Table.Td ta="right">{formatBytes(repository.archive_size_bytes)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
