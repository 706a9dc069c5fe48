import { Group, Pagination, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { formatCount } from './format.ts';

/** The most rows that `usePages` shows at a time. Rendering thousands freezes a browser. */
const MAX_ROWS = 50;

interface PagesProps {
  of: Pick<Schemas['Pagination'], 'page' | 'total_pages' | 'total_items'>;
  onChange(page: number): void;
}

/** The page controls of a list, if it has more than one page. */
export function Pages({ of: { page, total_pages, total_items }, onChange }: PagesProps) {
  if (total_pages <= 1) return null;
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {formatCount(total_items)} in total
      </Text>
      <Pagination
        total={total_pages}
        value={page}
        onChange={onChange}
        size="sm"
        getControlProps={(control) => ({ 'aria-label': `${control} page` })}
      />
    </Group>
  );
}

/** The current page of records that are all loaded, and the controls to change it. */
export function usePages<Row>(rows: readonly Row[]): [shown: readonly Row[], pages: ReactNode] {
  const [wanted, setWanted] = useState(1);
  const total_pages = Math.max(1, Math.ceil(rows.length / MAX_ROWS));
  const page = Math.min(wanted, total_pages);
  return [
    rows.slice((page - 1) * MAX_ROWS, page * MAX_ROWS),
    <Pages key="pages" of={{ page, total_pages, total_items: rows.length }} onChange={setWanted} />,
  ];
}
