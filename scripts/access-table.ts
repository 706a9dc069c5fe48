import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Who asks, by the credential that the request carries. */
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

/** Let in, refused, or let in to something that is not theirs. */
export type Access = 'yes' | '401' | '404';

/** One line of the table: a route and what each caller gets. */
export interface AccessRow {
  /** The heading that it stands under. */
  section: string;
  method: string;
  /** With the names of parameters: `/api/backups/:id`. */
  path: string;
  access: Record<Caller, Access>;
}

const TABLE = join(import.meta.dirname, '../tests/security/access-table.txt');

/** Reads the table that a person wrote. Throws for a line that is none of it. */
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
  ) as Record<Caller, Access>;
  return { method, path, access };
}

function readCell(cell: string): Access {
  if (cell === 'yes' || cell === '401' || cell === '404') return cell;
  throw new Error(`not a cell of the access table: ${cell}`);
}
