import { Table, type TableProps } from '@mantine/core';
import type { ReactNode } from 'react';

interface RecordTableProps extends Omit<TableProps, 'children'> {
  /** Below this width, the table scrolls sideways. */
  minWidth: number;
  /** The names of the columns. Those in `numbers` are aligned right. */
  heads: readonly string[];
  numbers?: readonly string[];
  /** Makes the table focusable, to scroll it with the keyboard. Needed when its rows have no links. */
  isReachable?: boolean;
  /** The rows. */
  children: ReactNode;
}

/** A table of records with column heads, which fits a phone. */
export function RecordTable({
  minWidth,
  heads,
  numbers = [],
  isReachable = false,
  children,
  ...table
}: RecordTableProps) {
  // The scroll bar is always visible, to show that there is more.
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
