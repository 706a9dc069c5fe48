import { Group, Pagination, Text } from '@mantine/core';
import type { Schemas } from '../api/client.ts';
import { formatCount } from './format.ts';

interface PagesProps {
  of: Schemas['Pagination'];
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
