import type { Database, SqlValue } from '../../database/database.ts';
import { AppError } from '../../errors.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { jsonArray, type Page, type PageRequest, pageOffset } from '../base/page.ts';
import { logColumns, logColumnsWith } from './list.ts';
import { type LogSelection, newestFirst, toSql, type Words } from './selection.ts';
import { foundByWords, wordsBudget } from './words.ts';

const MAX_MESSAGE_LENGTH = 4_000;

/** How many logs of a selection are counted and reached by pages. Older ones are reached with `beforeId`. */
export const MAX_LOGS_COUNTED = 10_000;

const boundedLogColumns = logColumnsWith(cutTextSql('message', MAX_MESSAGE_LENGTH));

/**
 * The newest `limit` matching logs as a JSON array, newest first, with messages longer than `maxMessage` characters cut,
 * by default 4,000. Throws NOT_FOUND when there is no log with the id `beforeId`.
 */
export async function selectLogs(
  db: Database,
  selection: LogSelection,
  limit: number,
  maxMessage = MAX_MESSAGE_LENGTH,
): Promise<string> {
  const values: SqlValue[] = [limit];
  const logs = toSql(selection, values);
  const isUsual = maxMessage === MAX_MESSAGE_LENGTH;
  const columns = isUsual ? boundedLogColumns : logColumnsWith(cutTextSql('message', maxMessage));
  const statement = {
    // Prepared only with the usual limit.
    ...(isUsual ? { name: `selected_logs_${logs.name}` } : {}),
    text: `SELECT ${jsonArray(`SELECT ${columns} FROM (${logs.newest('$1::bigint')}) AS log ${newestFirst}`)} AS items,
      ${logs.anchored} AS anchored`,
  };
  const [row] = await db.query<{ items: string; anchored: boolean }>(statement, values);
  if (!row) throw new Error('the selection of logs returned no row');
  if (!row.anchored) throw noSuchLog(selection.beforeId);
  return row.items;
}

/** A page of logs, and whether the search for words ran out of time before it had searched all logs. */
export interface FilteredPage extends Page {
  isCut: boolean;
}

/**
 * A page of the matching logs, newest first, with at most the newest MAX_LOGS_COUNTED of them, or the newest
 * MAX_LOGS_FOUND (words.ts) with words. Throws NOT_FOUND when there is no log with the id `beforeId`.
 */
export async function listFilteredLogs(
  db: Database,
  request: PageRequest,
  selection: LogSelection,
  words: Words | null,
  budget = wordsBudget,
): Promise<FilteredPage> {
  const values: SqlValue[] = [request.limit, pageOffset(request)];
  const logs = toSql(selection, values);
  const { ctes, most, newest, isCut } =
    words === null
      ? { ctes: '', most: MAX_LOGS_COUNTED, newest: logs.newest, isCut: 'false' }
      : foundByWords(logs, words, budget, values);
  // A page past the end reads no rows.
  const limit = `least($1::bigint, greatest(${most} - $2::bigint, 0))`;
  // Unnamed, so that it is planned for its values each time: the best index depends on how many logs there are of a
  // level or in a span of time.
  const statement = {
    text: `${ctes}
      SELECT ${jsonArray(`
        SELECT ${logColumns} FROM (${newest(`least($1::bigint + $2::bigint, ${most})`)}) AS log
        ${newestFirst} LIMIT ${limit} OFFSET $2::bigint`)} AS items,
        (SELECT count(*) FROM (${newest(String(most))}) AS log)::text AS total,
        ${isCut} AS "isCut", ${logs.anchored} AS anchored`,
  };
  type Row = { items: string; total: string; isCut: boolean; anchored: boolean };
  const [row] = await db.query<Row>(statement, values);
  if (!row) throw new Error('the page of logs returned no row');
  if (!row.anchored) throw noSuchLog(selection.beforeId);
  return { items: row.items, totalItems: Number(row.total), isCut: row.isCut };
}

/** The error for a `beforeId` that does not exist. */
export function noSuchLog(id: number | undefined): AppError {
  return new AppError(
    'NOT_FOUND',
    `log ${id} does not exist: before_id must be the id of a log that was returned before`,
  );
}
