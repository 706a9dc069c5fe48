import type { Database } from '../../lib/database/database.ts';
import { quoteName } from './columns.ts';
import type { MovedTable } from './tables.ts';

/**
 * Continues a table's id sequence after all ids that the source has assigned, including those of deleted
 * rows, so that ids are never reused.
 */
export async function continueIds(
  source: Database,
  target: Database,
  { name, key }: MovedTable,
): Promise<void> {
  const [first] = key;
  if (key.length !== 1 || first?.type !== 'bigint') return;
  const table = quoteName(name);
  const last = `SELECT greatest(
      (SELECT max(${quoteName(first.column)})::bigint FROM ${table}),
      pg_sequence_last_value(pg_get_serial_sequence('${table}', '${first.column}')::regclass)
    )::text AS last`;
  const [given] = await source.query<{ last: string | null }>({ text: last });
  const [taken] = await target.query<{ last: string | null }>({ text: last });
  const ids = [given?.last, taken?.last].flatMap((id) => (id ? [BigInt(id)] : []));
  if (ids.length === 0) return;
  const highest = ids.reduce((a, b) => (a > b ? a : b));
  await target.query(
    { text: `SELECT setval(pg_get_serial_sequence('${table}', '${first.column}'), $1::bigint)` },
    [String(highest)],
  );
}
