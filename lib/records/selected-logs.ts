import type { Database, SqlValue, Statement } from '../platform/database/database.ts';
import { logColumns } from './logs.ts';
import { jsonArray } from './page.ts';

/** Which logs: those that fit everything that is given. */
export interface LogSelection {
  runId?: number | undefined;
  /** In any case, at most 255 characters. */
  repository?: string | undefined;
  /** In lower case. */
  level?: string | undefined;
}

const newestFirst = 'ORDER BY log.created_at DESC, log.id DESC';

/** As it is indexed. No repository that can be asked for is longer than 255 characters. */
const nameOf = (log: string) => `left(lower(${log}repository), 256)`;

/**
 * Logs of one repository at every level that it has. The index begins with repository and level, so each
 * level is asked for its newest logs, after its levels were found by skipping from one to the next.
 */
const newestOfEachLevel = (repository: string) => `
  WITH RECURSIVE level AS (
    (SELECT lower(level) AS name FROM execution_logs WHERE ${nameOf('')} = ${repository}
     ORDER BY lower(level) LIMIT 1)
    UNION ALL
    SELECT (SELECT lower(level) FROM execution_logs
            WHERE ${nameOf('')} = ${repository} AND lower(level) > level.name
            ORDER BY lower(level) LIMIT 1)
    FROM level WHERE level.name IS NOT NULL
  )
  SELECT newest.* FROM level CROSS JOIN LATERAL (
    SELECT * FROM execution_logs AS log
    WHERE ${nameOf('log.')} = ${repository} AND lower(log.level) = level.name
    ${newestFirst} LIMIT $1::bigint
  ) AS newest`;

/**
 * The newest `limit` logs that fit, newest first, as the text of a JSON array (spec 3,
 * get_execution_logs).
 */
export async function selectLogs(
  db: Database,
  selection: LogSelection,
  limit: number,
): Promise<string> {
  const { statement, values } = select(selection);
  const [row] = await db.query<{ items: string }>(statement, [limit, ...values]);
  if (!row) throw new Error(`${statement.name} answered no row`);
  return row.items;
}

function select({ runId, repository, level }: LogSelection): {
  statement: Statement;
  values: SqlValue[];
} {
  const values: SqlValue[] = [];
  const given: string[] = [];
  const condition = (name: string, value: SqlValue | undefined, sql: (at: string) => string) => {
    if (value === undefined) return [];
    given.push(name);
    values.push(value);
    return [sql(`$${values.length + 1}`)];
  };
  const conditions = [
    ...condition('repository', repository, (at) => `${nameOf('log.')} = lower(${at})`),
    ...condition('run', runId, (at) => `log.run_id = ${at}::bigint`),
    ...condition('level', level, (at) => `lower(log.level) = ${at}`),
  ];
  const isOfRepositoryAlone = given.join() === 'repository';
  const source = isOfRepositoryAlone ? `(${newestOfEachLevel('lower($2)')})` : 'execution_logs';
  const where = isOfRepositoryAlone || given.length === 0 ? 'true' : conditions.join(' AND ');
  const text = `SELECT ${jsonArray(`
    SELECT ${logColumns} FROM ${source} AS log WHERE ${where}
    ${newestFirst} LIMIT $1::bigint`)} AS items`;
  return { statement: { name: ['selected_logs', ...given].join('_of_'), text }, values };
}
