import type { Database } from '../../lib/database/database.ts';
import { AppError } from '../../lib/errors.ts';
import type { MovedTable } from './tables.ts';

/** A column that both databases have. */
export interface MovedColumn {
  name: string;
  /** The type in the source, as in `pg_type`. */
  type: string;
  /** Nullable in the source, but not in the target. */
  mustLoosen: boolean;
}

/** The columns of a table that are moved, and those that the target lacks. */
export interface TableColumns {
  columns: readonly MovedColumn[];
  /** Columns that only the source has. */
  left: readonly string[];
}

interface CatalogColumn {
  relation: string;
  name: string;
  type: string;
  not_null: boolean;
}

/** The columns that both databases have, by table. Throws CONFLICT if a table is missing. */
export async function matchColumns(
  source: Database,
  target: Database,
  tables: readonly MovedTable[],
): Promise<ReadonlyMap<string, TableColumns>> {
  const [has, takes] = await Promise.all([
    readColumns(source, tables),
    readColumns(target, tables),
  ]);
  return new Map(tables.map(({ name }) => [name, match(name, has.get(name), takes.get(name))]));
}

function match(
  table: string,
  has: readonly CatalogColumn[] | undefined,
  takes: readonly CatalogColumn[] | undefined,
): TableColumns {
  if (has === undefined || takes === undefined) {
    throw new AppError('CONFLICT', `the ${has ? 'target' : 'source'} has no table ${table}`);
  }
  const places = new Map(takes.map((column) => [column.name, column]));
  const isKnown = ({ name }: CatalogColumn) => places.has(name);
  return {
    columns: has.filter(isKnown).map(({ name, type, not_null }) => ({
      name,
      type,
      mustLoosen: !not_null && places.get(name)?.not_null === true,
    })),
    left: has.filter((column) => !isKnown(column)).map(({ name }) => name),
  };
}

async function readColumns(
  db: Database,
  tables: readonly MovedTable[],
): Promise<Map<string, CatalogColumn[]>> {
  const rows = await db.query<CatalogColumn>(
    {
      text: `SELECT wanted AS relation, attname::text AS name, typname::text AS type,
          attnotnull AS not_null
        FROM unnest($1::text[]) AS wanted
        JOIN pg_attribute ON attrelid = to_regclass(wanted)
        JOIN pg_type ON pg_type.oid = atttypid
        WHERE attnum > 0 AND NOT attisdropped AND attgenerated = ''
        ORDER BY wanted, attname`,
    },
    [tables.map(({ name }) => name)],
  );
  return Map.groupBy(rows, ({ relation }) => relation);
}

/** Makes columns of the target nullable if they are in the source, as in tables of older writers. */
export async function loosenColumns(
  target: Database,
  table: string,
  columns: readonly MovedColumn[],
): Promise<void> {
  const changes = columns
    .filter(({ mustLoosen }) => mustLoosen)
    .map(({ name }) => `ALTER COLUMN ${quoteName(name)} DROP NOT NULL`);
  if (changes.length === 0) return;
  await target.query({ text: `ALTER TABLE ${quoteName(table)} ${changes.join(', ')}` });
}

/** A quoted SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
