import { Code, SegmentedControl, Table } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../../api/client.ts';
import type { RepositoryPath } from '../../api/queries.ts';
import { FilteredRows, useFilter } from '../../parts/filtered-rows.tsx';

const PAGE_SIZE = 50;

const kinds = [
  { value: '', label: 'All' },
  { value: 'refs/heads/', label: 'Branches' },
  { value: 'refs/tags/', label: 'Tags' },
];

/** The branches, tags and other refs of a version, with the objects they point to. */
export function VersionRefs({ path, version }: { path: RepositoryPath; version: number }) {
  const filter = useFilter();
  const { text } = filter;
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
    // The refs of a version never change.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const refs = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <FilteredRows
      filter={filter}
      label="Name contains"
      maxLength={200}
      aside={
        <SegmentedControl
          aria-label="Kind of ref"
          data={kinds}
          value={prefix}
          onChange={setPrefix}
        />
      }
      query={query}
      pending="Loading…"
      none="No ref of this version matches."
      name={`Refs of version ${version}`}
    >
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
    </FilteredRows>
  );
}
