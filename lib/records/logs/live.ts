import type { Database, Statement } from '../../database/database.ts';
import { iso } from '../base/page.ts';

/** Maximum rows per poll. */
export const POLL_BATCH_ROWS = 200;
/** Maximum missed rows that a resuming client is sent. */
export const REPLAY_ROWS = 1_000;
/** How far below the newest id to look for missing ids when the feed starts. */
const START_WINDOW_IDS = 10_000;

/** Short, because connecting clients wait for these queries. */
const timeLimit = { timeoutMs: 5_000 };

/** A row of execution_logs as the feed sends it. */
export interface LiveLog {
  id: bigint;
  /** The live log message: a JSON object on one line. */
  message: string;
}

/** Ids from `first` to `last`, inclusive. */
export interface IdRange {
  readonly first: bigint;
  readonly last: bigint;
}

/** The end of the logs. Ids are 0 when there are no logs. */
export interface LogEnd {
  newest: bigint;
  /** Ids above `searchedFrom` without a row: rolled back, deleted or not committed yet. */
  missing: IdRange[];
  searchedFrom: bigint;
  /** Previously missing ids that have a row now. */
  found: bigint[];
}

const columns = 'id, level, message, repository, created_at';

/** SQL for the live log message of the row `log`. */
const message = `(SELECT row_to_json(item)::text FROM (
  SELECT 'log' AS type, log.id, log.level, log.message, coalesce(log.repository, '') AS repository,
    ${iso('log.created_at')} AS timestamp) AS item)`;

const end: Statement = {
  name: 'end_of_logs',
  text: `WITH newest AS (
      SELECT coalesce(max(id), 0) AS id FROM execution_logs
    ), start AS (
      SELECT greatest(id - ${START_WINDOW_IDS}, 0) AS id FROM newest
    ), recent AS (
      SELECT lag(log.id, 1, (SELECT id FROM start)) OVER (ORDER BY log.id) + 1 AS first, log.id - 1 AS last
      FROM execution_logs AS log WHERE log.id > (SELECT id FROM start)
    )
    SELECT (SELECT id FROM newest)::text AS newest, (SELECT id FROM start)::text AS start,
      (SELECT coalesce(json_agg(json_build_array(first::text, last::text) ORDER BY first), '[]')::text
       FROM recent WHERE first <= last) AS missing,
      (SELECT coalesce(json_agg(id::text ORDER BY id), '[]')::text FROM (
         SELECT log.id FROM unnest($1::bigint[], $2::bigint[]) AS gap(first, last)
         CROSS JOIN LATERAL (
           SELECT id FROM execution_logs WHERE id BETWEEN gap.first AND gap.last
           ORDER BY id DESC LIMIT ${REPLAY_ROWS}) AS log
         ORDER BY log.id DESC LIMIT ${REPLAY_ROWS}) AS log) AS found`,
};

/** Reads the end of the logs, and which of the given missing ids have a row by now. */
export async function readLogEnd(db: Database, missing: readonly IdRange[]): Promise<LogEnd> {
  const [row] = await db.query<Record<'newest' | 'start' | 'missing' | 'found', string>>(
    end,
    bounds(missing),
    timeLimit,
  );
  if (!row) throw new Error('the end of the logs returned no row');
  const ranges: [string, string][] = JSON.parse(row.missing);
  const found: string[] = JSON.parse(row.found);
  return {
    newest: BigInt(row.newest),
    searchedFrom: BigInt(row.start),
    missing: ranges.map(([first, last]) => ({ first: BigInt(first), last: BigInt(last) })),
    found: found.map(BigInt),
  };
}

/** The rows of one poll by ascending id, and the newest id in the same snapshot. */
export interface Poll {
  newest: bigint;
  rows: LiveLog[];
}

/** Late rows come first because of their lower ids. The outer join returns a row even without logs. */
const poll: Statement = {
  name: 'poll_logs',
  text: `SELECT newest.id::text AS newest, log.id::text AS id, log.message
    FROM (SELECT coalesce(max(id), 0) AS id FROM execution_logs) AS newest
    LEFT JOIN (
      SELECT log.id, ${message} AS message FROM (
        (SELECT log.* FROM unnest($2::bigint[], $3::bigint[]) AS gap(first, last)
         CROSS JOIN LATERAL (
           SELECT ${columns} FROM execution_logs WHERE id BETWEEN gap.first AND gap.last
           ORDER BY id LIMIT ${POLL_BATCH_ROWS}) AS log
         ORDER BY log.id LIMIT ${POLL_BATCH_ROWS})
        UNION ALL
        (SELECT ${columns} FROM execution_logs WHERE id > $1::bigint
         ORDER BY id LIMIT ${POLL_BATCH_ROWS})
        ORDER BY id LIMIT ${POLL_BATCH_ROWS}) AS log
    ) AS log ON true
    ORDER BY log.id`,
};

/** Reads the rows above an id, and previously missing rows below it, by ascending id. */
export async function pollLogs(
  db: Database,
  after: bigint,
  missing: readonly IdRange[],
): Promise<Poll> {
  const rows = await db.query<{ newest: string; id: string | null; message: string | null }>(
    poll,
    [String(after), ...bounds(missing)],
    timeLimit,
  );
  const [first] = rows;
  if (!first) throw new Error('the poll of the logs returned no row');
  return {
    newest: BigInt(first.newest),
    rows: rows.flatMap(({ id, message }) =>
      id === null || message === null ? [] : [{ id: BigInt(id), message }],
    ),
  };
}

/** Selects what a resuming client has missed. */
export interface ReplayRequest {
  /** The last id that the client has. */
  after: bigint;
  /** The highest id to read. */
  upTo: bigint;
  /** Rows below `after` that were committed after the client received `after`. */
  late: readonly bigint[];
}

const replay: Statement = {
  name: 'replay_logs',
  text: `SELECT log.id::text AS id, ${message} AS message FROM (
      (SELECT ${columns} FROM execution_logs WHERE id > $1::bigint AND id <= $2::bigint
       ORDER BY id DESC LIMIT ${REPLAY_ROWS})
      UNION ALL
      (SELECT ${columns} FROM execution_logs WHERE id = ANY($3::bigint[]) AND id <= $1::bigint)
      ORDER BY id DESC LIMIT ${REPLAY_ROWS}) AS log
    ORDER BY log.id`,
};

/** Reads the newest rows that a resuming client has missed, up to `REPLAY_ROWS`, by ascending id. */
export async function replayLogs(
  db: Database,
  { after, upTo, late }: ReplayRequest,
): Promise<LiveLog[]> {
  const rows = await db.query<{ id: string; message: string }>(
    replay,
    [String(after), String(upTo), late.map(String)],
    timeLimit,
  );
  return rows.map(({ id, message }) => ({ id: BigInt(id), message }));
}

function bounds(ranges: readonly IdRange[]): [string[], string[]] {
  return [ranges.map(({ first }) => String(first)), ranges.map(({ last }) => String(last))];
}
