import { Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { anomaliesOf, type RepositoryPath } from '../../api/queries.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Pages } from '../../parts/pages.tsx';
import { Anomalies } from '../anomalies.tsx';

const PAGE_SIZE = 5;

/** The anomalies in the history of a repository. */
export function RepositoryAnomalies({ path }: { path: RepositoryPath }) {
  const [page, setPage] = useState(1);
  return (
    <Stack gap="xs" component="section" aria-label="Anomalies">
      <Title order={2} size="h4">
        Anomalies
      </Title>
      <Loaded query={useQuery(anomaliesOf(path, { page, limit: PAGE_SIZE }))} lines={1}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <Text c="dimmed">
              No branch or tag with commits of its own was rewritten or deleted, and nothing shrank.
            </Text>
          ) : (
            <>
              <Anomalies anomalies={data} />
              <Pages of={pagination} onChange={setPage} />
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}
