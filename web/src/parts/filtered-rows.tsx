import { Button, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { Failure } from './loading.tsx';

const TYPING_MS = 300;

interface Filter {
  typed: string;
  /** What was typed, once there is a pause. */
  text: string;
  type(text: string): void;
}

/** The text of a filter. */
export function useFilter(): Filter {
  const [typed, type] = useState('');
  const [text] = useDebouncedValue(typed, TYPING_MS);
  return { typed, text, type };
}

interface FilteredRowsProps {
  filter: Filter;
  /** What the filter asks of a row. */
  label: string;
  maxLength: number;
  /** Beside the filter. */
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
  /** What is said while the first rows are on the way, and when there are none. */
  pending: string;
  none: string;
  /** The name of the table. */
  name: string;
  /** Rows of a table. */
  children: readonly ReactNode[];
}

/** The rows that fit a filter, a page at a time. */
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
          More
        </Button>
      )}
    </Stack>
  );
}
