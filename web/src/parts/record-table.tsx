import { Group, Table, type TableProps, UnstyledButton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { CaretDownIcon, CaretSortIcon, CaretUpIcon } from '@radix-ui/react-icons';
import { type CSSProperties, type ReactNode, useState } from 'react';
import classes from './record-table.module.css';

/** As in the style sheet. */
const PHONE = '(max-width: 36em)';

/** The heads as variables for the style sheet, which shows them in each row on a phone. */
function namesOf(heads: readonly string[]): CSSProperties {
  return Object.fromEntries(
    heads.map((head, index) => [`--head-${index + 1}`, JSON.stringify(head)]),
  ) as CSSProperties;
}

/** How a table is ordered, and by which columns it can be. */
export interface Sorting {
  /** The columns by which the rows can be ordered, each with the name of its order. */
  orders: Readonly<Record<string, string>>;
  /** The orders whose largest or newest come first. */
  descending: readonly string[];
  order: string;
  /** Whether it is the other way round. */
  isReverse: boolean;
  onSort(order: string, isReverse: boolean): void;
}

interface RecordTableProps extends Omit<TableProps, 'children'> {
  /** Below this width, the table scrolls sideways; on a phone its rows are cards. */
  minWidth: number;
  /** The names of the columns. Those in `numbers` are aligned right. */
  heads: readonly string[];
  numbers?: readonly string[];
  /** Makes the table focusable, to scroll it with the keyboard. Needed when its rows have no links. */
  isReachable?: boolean;
  sorting?: Sorting;
  /** The rows. */
  children: ReactNode;
}

/** A table of records with column heads, which fits a phone. */
export function RecordTable({
  minWidth,
  heads,
  numbers = [],
  isReachable = false,
  sorting,
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
              <Head
                key={head}
                head={head}
                isNumber={numbers.includes(head)}
                // On a phone the heads are not visible.
                sorting={isPhone ? undefined : sorting}
              />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

const ICON = { width: 14, height: 14, 'aria-hidden': true };

/** A column head, which orders the rows if it can. */
function Head({
  head,
  isNumber,
  sorting,
}: {
  head: string;
  isNumber: boolean;
  sorting: Sorting | undefined;
}) {
  const ta = isNumber ? 'right' : undefined;
  const order = sorting?.orders[head];
  if (sorting === undefined || order === undefined) return <Table.Th ta={ta}>{head}</Table.Th>;
  const isSorted = sorting.order === order;
  const isDescending = sorting.descending.includes(order) !== sorting.isReverse;
  const direction = isDescending ? 'descending' : 'ascending';
  const Icon = !isSorted ? CaretSortIcon : isDescending ? CaretDownIcon : CaretUpIcon;
  return (
    <Table.Th ta={ta} aria-sort={isSorted ? direction : 'none'}>
      <UnstyledButton
        fz="inherit"
        fw="inherit"
        onClick={() => sorting.onSort(order, isSorted && !sorting.isReverse)}
      >
        <Group component="span" gap={4} wrap="nowrap" display="inline-flex">
          {head}
          <Icon {...ICON} />
        </Group>
      </UnstyledButton>
    </Table.Th>
  );
}

/** Orders rows that are all loaded by the column that the user chooses; at first by none. */
export function useSorted<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => string | number>>,
): [sorted: readonly Row[], sorting: Sorting] {
  const [{ order, isReverse }, setSorted] = useState({ order: '', isReverse: false });
  const cellOf = columns[order];
  const sorted =
    cellOf === undefined
      ? rows
      : rows.toSorted((a, b) => compare(cellOf(a), cellOf(b)) * (isReverse ? -1 : 1));
  return [
    sorted,
    {
      orders: Object.fromEntries(Object.keys(columns).map((column) => [column, column])),
      descending: [],
      ...{ order, isReverse },
      onSort: (order, isReverse) => setSorted({ order, isReverse }),
    },
  ];
}

const names = new Intl.Collator(undefined, { numeric: true });

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : names.compare(`${a}`, `${b}`);
}
