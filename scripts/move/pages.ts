import { type MovedColumn, quoteName } from './columns.ts';
import type { MovedTable } from './tables.ts';

/** The key of a page's last row, as the text of a JSON array. */
export type PageEnd = string;

/**
 * SQL for at most `limit` rows of a table after a key, in key order. The key is parameter `$1` unless
 * `isFirst`. Texts are ordered by bytes, independent of the database's collation.
 */
export function pageAfterKey(
  { name, key }: MovedTable,
  selected: string,
  { isFirst, limit }: { isFirst: boolean; limit: number },
): string {
  const order = orderOf(key);
  const values = key.map(({ type }, index) => {
    const value = `($1::json->>${index})::${type}`;
    return type === 'text' ? `${value} COLLATE "C"` : value;
  });
  const after = isFirst ? '' : `WHERE (${order}) > (${values.join(', ')})`;
  return `SELECT ${selected} FROM ${quoteName(name)} ${after} ORDER BY ${order} LIMIT ${limit}`;
}

/** SQL for the order of a table's key. */
export function orderOf(key: MovedTable['key']): string {
  return key
    .map(({ column, type }) => `${quoteName(column)}${type === 'text' ? ' COLLATE "C"' : ''}`)
    .join(', ');
}

/** SQL for a row's key as the text of a JSON array. */
export function endOf({ key }: MovedTable): string {
  return `json_build_array(${key.map(({ column }) => quoteName(column)).join(', ')})::text`;
}

/** SQL for the moved columns of a table. */
export function selectOf({ instead = {} }: MovedTable, columns: readonly MovedColumn[]): string {
  return columns
    .map(({ name }) =>
      name in instead ? `${instead[name]} AS ${quoteName(name)}` : quoteName(name),
    )
    .join(', ');
}
