import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Callers, by the credential that they send. */
export const callers = [
  'nobody',
  'wrong',
  'expired',
  'internal',
  'cron',
  'mcp',
  'other',
  'user',
] as const;
export type Caller = (typeof callers)[number];

/** Allowed, rejected, 403 if only the owner may do it, or 404 for something that belongs to another user. */
export type AccessCell = 'yes' | '401' | '403' | '404';

/** One row of the table: a route and the result for each caller. */
export interface AccessRow {
  /** The heading above it. */
  section: string;
  method: string;
  /** With parameter names: `/api/backups/:id`. */
  path: string;
  access: Record<Caller, AccessCell>;
}

const TABLE = join(import.meta.dirname, '../../tests/security/access-table.txt');

/** Reads the hand-written table. Throws for an invalid line. */
export function readAccessTable(): AccessRow[] {
  const rows: AccessRow[] = [];
  let section = '';
  for (const line of readFileSync(TABLE, 'utf8').split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    else if (line !== '' && !line.startsWith('#')) rows.push({ section, ...readRow(line) });
  }
  return rows;
}

function readRow(line: string): Omit<AccessRow, 'section'> {
  const [method = '', path = '', ...cells] = line.split(/ +/);
  if (cells.length !== callers.length) throw new Error(`not a line of the access table: ${line}`);
  const access = Object.fromEntries(
    callers.map((caller, index) => [caller, readCell(cells[index] ?? '')] as const),
  ) as Record<Caller, AccessCell>;
  return { method, path, access };
}

function readCell(cell: string): AccessCell {
  if (cell === 'yes' || cell === '401' || cell === '403' || cell === '404') return cell;
  throw new Error(`not a cell of the access table: ${cell}`);
}
