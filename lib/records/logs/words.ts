import type { SqlValue } from '../../database/database.ts';
import { newestFirst, type SelectedLogs, type Words } from './selection.ts';

/** Maximum number of logs found by words; the newest ones. */
export const MAX_LOGS_FOUND = 1_000;

/** How many of the newest logs of a selection are read one by one. If it has no more, the index is not searched. */
const MAX_LOGS_READ = 5_000;

/** The time limits of a search, in milliseconds from its start. */
export interface WordsBudget {
  /** Until when the full-text index is searched. */
  searchMs: number;
  /** Until when logs are read one by one. */
  readMs: number;
}

/** The default time limits of a search. */
export const wordsBudget: WordsBudget = { searchMs: 300, readMs: 600 };

/** The text of a log, as in the index execution_logs_document. */
const content = `coalesce(message, '') || ' ' || coalesce(repository, '')`;

const until = (milliseconds: string) =>
  `statement_timestamp() + ${milliseconds}::float8 * interval '1 ms'`;

/**
 * SQL for the logs of a selection that contain words: the CTEs, the maximum number of logs found, the newest of them,
 * and whether time ran out. A small selection, such as a run, is read; otherwise the index is searched, which finds
 * rare words anywhere. Common words may be in more logs than can be searched; at least those in the newest logs of the
 * selection are found then. Appends its values to `values`.
 */
export function foundByWords(
  logs: SelectedLogs,
  words: Words,
  budget: WordsBudget,
  values: SqlValue[],
) {
  const [alternatives, searchMs, readMs] = [
    `$${values.push(JSON.stringify(words))}::jsonb`,
    `$${values.push(budget.searchMs)}`,
    `$${values.push(budget.readMs)}`,
  ];
  const ctes = `WITH asked AS MATERIALIZED (
      SELECT search_query(${alternatives}, 'parts', 0, false) AS query, ${logs.condition} AS condition,
        ${logs.isNarrow} AND (
          SELECT count(*) FROM (${logs.newest(String(MAX_LOGS_READ + 1))}) AS log
        ) <= ${MAX_LOGS_READ} AS is_small
    ), searched AS MATERIALIZED (
      SELECT found.ids, found.is_cut FROM asked CROSS JOIN LATERAL search_newest(
        'execution_logs', $text$${content}$text$, asked.condition, asked.query,
        search_loose(${alternatives}, 'parts', 0, asked.query), '{}', ${MAX_LOGS_FOUND}, '{}', ${until(searchMs)}, NULL
      ) AS found WHERE numnode(asked.query) > 0 AND NOT asked.is_small
    ), read AS MATERIALIZED (
      SELECT log.id, CASE WHEN clock_timestamp() < ${until(readMs)}
        THEN search_document(log.id, ${content}) @@ asked.query END AS matches
      FROM asked CROSS JOIN LATERAL (${logs.newest(String(MAX_LOGS_READ))}) AS log
      WHERE numnode(asked.query) > 0 AND (asked.is_small OR (SELECT is_cut FROM searched))
    ), matching AS MATERIALIZED (
      -- The inner limit makes the planner look up each log by its id.
      SELECT log.* FROM (
        SELECT unnest(ids) AS id FROM searched UNION SELECT id FROM read WHERE matches
      ) AS found CROSS JOIN LATERAL (
        SELECT * FROM execution_logs WHERE execution_logs.id = found.id LIMIT 1
      ) AS log ${newestFirst} LIMIT ${MAX_LOGS_FOUND}
    )`;
  return {
    ctes,
    most: MAX_LOGS_FOUND,
    newest: (most: string) => `SELECT * FROM matching AS log ${newestFirst} LIMIT ${most}`,
    isCut: `coalesce((SELECT is_cut FROM searched), EXISTS (SELECT FROM read WHERE matches IS NULL))`,
  };
}
