import { Table, type TableProps } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { CSSProperties, ReactNode } from 'react';
import classes from './record-table.module.css';

/** As in the style sheet. */
const PHONE = '(max-width: 36em)';

/** The heads as variables for the style sheet, which shows them in each row on a phone. */
function namesOf(heads: readonly string[]): CSSProperties {
  return Object.fromEntries(
    heads.map((head, index) => [`--head-${index + 1}`, JSON.stringify(head)]),
  ) as CSSProperties;
}

interface RecordTableProps extends Omit<TableProps, 'children'> {
  /** Below this width, the table scrolls sideways; on a phone its rows are cards. */
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
  const isPhone = useMediaQuery(PHONE, false);
  // The scroll bar is always visible, to show that there is more.
  const scrolling = {
    type: 'auto' as const,
    ...(isReachable ? { viewportProps: { tabIndex: 0 } } : {}),
  };
  return (
    <Table.ScrollContainer minWidth={isPhone ? 0 : minWidth} scrollAreaProps={scrolling}>
      <Table verticalSpacing="sm" className={classes.table} style={namesOf(heads)} {...table}>
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
