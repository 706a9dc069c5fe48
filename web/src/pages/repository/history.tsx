import { Anchor, Code, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { history, type RepositoryPath } from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { formatArchiveSize, formatDuration } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Pages } from '../../parts/pages.tsx';
import { RecordTable } from '../../parts/record-table.tsx';
import { Remarks } from '../../parts/remarks.tsx';
import { OutcomeBadge, outcomeOfResult } from '../../parts/status.tsx';

const PAGE_SIZE = 15;

/** The results of the repository, without the runs that found it unchanged. */
export function RepositoryHistory({ path }: { path: RepositoryPath }) {
  const [page, setPage] = useState(1);
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        History
      </Title>
      <Text size="sm" c="dimmed">
        Runs that found it unchanged are left out.
      </Text>
      <Loaded query={useQuery(history(path, { page, limit: PAGE_SIZE }))} lines={6}>
        {({ data, pagination }) => (
          <>
            <RecordTable
              minWidth={560}
              heads={['Run', 'When', 'Outcome', 'Commit', 'Archive', 'Took']}
              numbers={['Archive', 'Took']}
            >
              {data.map((result) => (
                <Table.Tr key={result.id}>
                  <Table.Td>
                    <Anchor component={Link} to={`/runs/${result.run_id}`} inherit>
                      #{result.run_id}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>
                    <Age of={result.created_at} />
                  </Table.Td>
                  <Table.Td>
                    <OutcomeBadge outcome={outcomeOfResult(result.status)} />
                    <Remarks result={result} />
                    {result.error_message && (
                      <Text size="xs" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                        {result.error_message}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td>
                    {result.commit_hash && <Code>{result.commit_hash.slice(0, 10)}</Code>}
                  </Table.Td>
                  <Table.Td ta="right">{formatArchiveSize(result.archive_size_bytes)}</Table.Td>
                  <Table.Td ta="right">{formatDuration(result.duration_ms)}</Table.Td>
                </Table.Tr>
              ))}
            </RecordTable>
            <Pages of={pagination} onChange={setPage} />
          </>
        )}
      </Loaded>
    </Stack>
  );
}
