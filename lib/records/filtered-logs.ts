import type { Database, SqlValue, Statement } from '../database/database.ts';
import { AppError } from '../errors.ts';
import { cutTextSql } from '../text/cut-text.ts';
import { logColumnsWith } from './logs.ts';
import { jsonArray } from './page.ts';

/** Selects the logs that match all given filters. */
export interface LogSelection {
  runId?: number | undefined;
  /** Case-insensitive, at most 255 characters. */
  repository?: string | undefined;
  /** In lower case. */
  level?: string | undefined;
  /** Only logs older than the log with this id. */
  beforeId?: number | undefined;
  /** Only logs from this time on. ISO 8601. */
  since?: string | undefined;
}

const MAX_MESSAGE_LENGTH = 4_000;

const newestFirst = 'ORDER BY log.created_at DESC, log.id DESC';

const boundedLogColumns = logColumnsWith(cutTextSql('message', MAX_MESSAGE_LENGTH));

/** SQL for the sort key of a log. */
const placeOf = (id: string) =>
  `SELECT anchor.created_at, anchor.id FROM execution_logs AS anchor WHERE anchor.id = ${id}::bigint`;

/** The indexed expression. Filters have at most 255 characters, so the cut does not matter. */
const nameOf = (log: string) => `left(lower(${log}repository), 256)`;

/**
 * The newest logs of a repository. The index starts with repository and level, so this finds the
 * repository's levels with a loose index scan and reads the newest logs of each level.
 */
const newestOfEachLevel = (repository: string, conditions: readonly string[]) => `
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
    WHERE ${[`${nameOf('log.')} = ${repository}`, 'lower(log.level) = level.name', ...conditions].join(' AND ')}
    ${newestFirst} LIMIT $1::bigint
  ) AS newest`;

/**
 * The newest `limit` matching logs as a JSON array, newest first. Throws NOT_FOUND when there is no log with
 * the id `beforeId`.
 */
export async function selectLogs(
  db: Database,
  selection: LogSelection,
  limit: number,
): Promise<string> {
  const { statement, values } = select(selection);
  type Row = { items: string; anchored: boolean };
  const [row] = await db.query<Row>(statement, [limit, ...values]);
  if (!row) throw new Error(`${statement.name} returned no row`);
  if (!row.anchored) throw noSuchLog(selection.beforeId);
  return row.items;
}

/** The error for a `beforeId` that does not exist. */
export function noSuchLog(id: number | undefined): AppError {
  return new AppError(
    'NOT_FOUND',
    `log ${id} does not exist: before_id must be the id of a log that get_execution_logs returned`,
  );
}

function select({ runId, repository, level, beforeId, since }: LogSelection): {
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
  const moments = [
    ...condition('since', since, (at) => `log.created_at >= ${at}::timestamptz`),
    ...condition('before', beforeId, (at) => `(log.created_at, log.id) < (${placeOf(at)})`),
  ];
  const source = isOfRepositoryAlone
    ? `(${newestOfEachLevel('lower($2)', moments)})`
    : 'execution_logs';
  const where = isOfRepositoryAlone ? [] : [...conditions, ...moments];
  const anchored = beforeId === undefined ? 'true' : `EXISTS (${placeOf(`$${values.length + 1}`)})`;
  const text = `SELECT ${jsonArray(`
    SELECT ${boundedLogColumns} FROM ${source} AS log WHERE ${['true', ...where].join(' AND ')}
    ${newestFirst} LIMIT $1::bigint`)} AS items, ${anchored} AS anchored`;
  return { statement: { name: ['selected_logs', ...given].join('_of_'), text }, values };
}
