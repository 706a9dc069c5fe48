import {
  Button,
  Code,
  Group,
  SegmentedControl,
  Stack,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { RepositoryPath } from '../api/queries.ts';
import { Failure } from '../parts/loading.tsx';

const PAGE_SIZE = 50;
const TYPING_MS = 300;

const kinds = [
  { value: '', label: 'All' },
  { value: 'refs/heads/', label: 'Branches' },
  { value: 'refs/tags/', label: 'Tags' },
];

/** Where the branches and tags of a version pointed. */
export function VersionRefs({ path, version }: { path: RepositoryPath; version: number }) {
  const [typed, setTyped] = useState('');
  const [text] = useDebouncedValue(typed, TYPING_MS);
  const [prefix, setPrefix] = useState('');
  const query = useInfiniteQuery({
    queryKey: ['repository', path, 'versions', version, 'refs', { text, prefix }],
    queryFn: ({ pageParam }) => {
      const query = { text, prefix, limit: PAGE_SIZE, ...(pageParam ? { after: pageParam } : {}) };
      const params = { path: { ...path, id: version }, query };
      return body(api.GET('/api/repos/{owner}/{name}/versions/{id}/refs', { params }));
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    // What a version was does not change.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const refs = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Stack gap="sm">
      <Group align="end">
        <TextInput
          label="Name contains"
          value={typed}
          maxLength={200}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        <SegmentedControl
          aria-label="Kind of ref"
          data={kinds}
          value={prefix}
          onChange={setPrefix}
        />
      </Group>
      {query.error && <Failure error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && <Text c="dimmed">Loading…</Text>}
      {query.isSuccess && refs.length === 0 && (
        <Text c="dimmed">This version has no such branch or tag.</Text>
      )}
      {refs.length > 0 && (
        <Table aria-label={`Refs of version ${version}`}>
          <Table.Tbody>
            {refs.map(({ name, object_id }) => (
              <Table.Tr key={name}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <bdi>{name}</bdi>
                </Table.Td>
                <Table.Td ta="right">
                  <Code title={object_id}>{object_id.slice(0, 10)}</Code>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          More
        </Button>
      )}
    </Stack>
  );
}
