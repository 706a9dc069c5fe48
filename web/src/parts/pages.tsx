import { Group, Pagination, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { formatCount } from './format.ts';

/** The most rows of a page of records that are all at hand. Drawing thousands freezes a browser. */
const MAX_ROWS = 50;

interface PagesProps {
  of: Pick<Schemas['Pagination'], 'page' | 'total_pages' | 'total_items'>;
  onChange(page: number): void;
}

/** Leads through the pages of a list; nothing for a single one. */
export function Pages({ of: { page, total_pages, total_items }, onChange }: PagesProps) {
  if (total_pages <= 1) return null;
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {formatCount(total_items)} in all
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

/** Records that are all at hand, a page of them at a time, and what leads to the others. */
export function usePages<Row>(rows: readonly Row[]): [shown: readonly Row[], pages: ReactNode] {
  const [wanted, setWanted] = useState(1);
  const total_pages = Math.max(1, Math.ceil(rows.length / MAX_ROWS));
  const page = Math.min(wanted, total_pages);
  return [
    rows.slice((page - 1) * MAX_ROWS, page * MAX_ROWS),
    <Pages key="pages" of={{ page, total_pages, total_items: rows.length }} onChange={setWanted} />,
  ];
}
