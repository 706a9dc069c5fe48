import { Button, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { Failure } from './loading.tsx';

const TYPING_MS = 300;

interface Filter {
  typed: string;
  /** The typed text, once typing pauses. */
  text: string;
  type(text: string): void;
}

export function useFilter(): Filter {
  const [typed, type] = useState('');
  const [text] = useDebouncedValue(typed, TYPING_MS);
  return { typed, text, type };
}

interface FilteredRowsProps {
  filter: Filter;
  /** The label of the filter. */
  label: string;
  maxLength: number;
  /** Shown beside the filter. */
  aside?: ReactNode;
  query: {
    error: Error | null;
    isPending: boolean;
    isSuccess: boolean;
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    refetch(): unknown;
    fetchNextPage(): unknown;
  };
  /** Shown while the first rows load, and when there are none. */
  pending: string;
  none: string;
  /** The accessible name of the table. */
  name: string;
  /** Rows of a table. */
  children: readonly ReactNode[];
}

/** A table of the rows that match a filter, loaded a page at a time. */
export function FilteredRows({
  filter: { typed, type },
  query,
  children: rows,
  ...texts
}: FilteredRowsProps) {
  return (
    <Stack gap="sm">
      <Group align="end">
        <TextInput
          label={texts.label}
          value={typed}
          maxLength={texts.maxLength}
          onChange={({ currentTarget }) => type(currentTarget.value)}
          flex="1 1 200px"
          maw={400}
        />
        {texts.aside}
      </Group>
      {query.error && <Failure error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && <Text c="dimmed">{texts.pending}</Text>}
      {query.isSuccess && rows.length === 0 && <Text c="dimmed">{texts.none}</Text>}
      {rows.length > 0 && (
        <Table aria-label={texts.name}>
          <Table.Tbody>{rows}</Table.Tbody>
        </Table>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Load more
        </Button>
      )}
    </Stack>
  );
}
