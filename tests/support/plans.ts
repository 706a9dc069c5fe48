import type { Database, SqlValue, Statement } from '../../lib/database/database.ts';
import { connect } from './connection.ts';
import type { TestDatabase } from './databases.ts';

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

/** The number of rows read from each table, from the leaf nodes of a plan. */
function rowsRead(plan: Plan, found: Record<string, number> = {}): Record<string, number> {
  const table = plan['Relation Name'];
  if (table !== undefined) {
    const rows = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0);
    found[table] = (found[table] ?? 0) + rows * plan['Actual Loops'];
  }
  for (const child of plan.Plans ?? []) rowsRead(child, found);
  return found;
}

/**
 * Runs a read as it ships, and returns how many rows its single statement reads from each table of a real Postgres,
 * with the plan for its values or the plan for any values. Throws when it is not a single statement.
 */
export async function explainRead(
  database: TestDatabase,
  read: (db: Database) => Promise<unknown>,
  generic: boolean,
): Promise<Record<string, number>> {
  const sent: { statement: Statement; values: readonly SqlValue[] }[] = [];
  const recording: Database = {
    ...database.db,
    query(statement, values = [], options = {}) {
      sent.push({ statement, values });
      return database.db.query(statement, values, options);
    },
  };
  await read(recording);
  const [only] = sent;
  if (only === undefined || sent.length > 1) throw new Error(`${sent.length} round trips`);
  return explainStatement(database, only.statement, only.values, generic);
}

async function explainStatement(
  database: TestDatabase,
  { text }: Statement,
  values: readonly SqlValue[],
  generic: boolean,
): Promise<Record<string, number>> {
  const client = await connect(database.url);
  try {
    await client.query(`SET plan_cache_mode = force_${generic ? 'generic' : 'custom'}_plan`);
    await client.query(`PREPARE read AS ${text}`);
    const literals = values
      .map((value) =>
        value === null
          ? 'NULL'
          : client.escapeLiteral(Array.isArray(value) ? `{${value}}` : String(value)),
      )
      .join(', ');
    const { rows } = await client.query(
      `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE read${literals === '' ? '' : `(${literals})`}`,
    );
    return rowsRead(rows[0]['QUERY PLAN'][0].Plan);
  } finally {
    await client.end();
  }
}
