import { Table, type TableProps } from '@mantine/core';
import type { ReactNode } from 'react';

interface RecordTableProps extends Omit<TableProps, 'children'> {
  /** Below this width the table scrolls in its place. */
  minWidth: number;
  /** The names of the columns; those in `numbers` stand at the right. */
  heads: readonly string[];
  numbers?: readonly string[];
  /** For rows without a link: the keyboard reaches the table itself, to scroll it. */
  isReachable?: boolean;
  /** The rows. */
  children: ReactNode;
}

/** A table of records with a head, which fits a phone. */
export function RecordTable({
  minWidth,
  heads,
  numbers = [],
  isReachable = false,
  children,
  ...table
}: RecordTableProps) {
  // The bar is always there, as a sign that there is more.
  const scrolling = {
    type: 'auto' as const,
    ...(isReachable ? { viewportProps: { tabIndex: 0 } } : {}),
  };
  return (
    <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={scrolling}>
      <Table verticalSpacing="sm" {...table}>
        <Table.Thead>
          <Table.Tr>
            {heads.map((head) => (
              <Table.Th key={head} ta={numbers.includes(head) ? 'right' : undefined}>
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
