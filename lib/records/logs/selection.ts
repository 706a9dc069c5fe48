import type { SqlValue } from '../../database/database.ts';
import type { QueryTerm } from '../../search/parse-query.ts';

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
  /** Only logs before this time. ISO 8601. */
  until?: string | undefined;
}

/** Words that logs must contain, as parsed by lib/search/parse-query.ts: alternatives, each a list of terms. */
export type Words = readonly (readonly QueryTerm[])[];

/** SQL that orders logs. */
export const newestFirst = 'ORDER BY log.created_at DESC, log.id DESC';

/** SQL for the sort key of a log. */
const placeOf = (id: string) =>
  `SELECT anchor.created_at, anchor.id FROM execution_logs AS anchor WHERE anchor.id = ${id}::bigint`;

/** The indexed expression. Filters have at most 255 characters, so the cut does not matter. */
const nameOf = (log: string) => `left(lower(${log}repository), 256)`;

/** The time of the first or last log of a run. */
const endOfRun = (run: string, order: string) =>
  `(SELECT created_at FROM execution_logs AS of_run WHERE of_run.run_id = ${run}::bigint
    ORDER BY of_run.created_at ${order}, of_run.id ${order} LIMIT 1)`;

/** SQL for a selection. */
export interface SelectedLogs {
  /** Distinguishes the statements of different filters. */
  name: string;
  /** SQL for the newest logs of the selection, at most `most` (SQL), with the alias `log`. */
  newest(most: string): string;
  /** SQL for whether there is any filter, so that few logs may match. */
  isNarrow: 'true' | 'false';
  /** SQL for the selection as a condition in text, which the search functions take. */
  condition: string;
  /** SQL that is false if there is no log with the id `beforeId`. */
  anchored: string;
}

/** Translates a selection. Appends its values to `values`, which are the parameters of the statement. */
export function toSql(selection: LogSelection, values: SqlValue[]): SelectedLogs {
  const given: string[] = [];
  const parameter = (name: string, value: SqlValue | undefined) => {
    if (value === undefined) return null;
    given.push(name);
    return `$${values.push(value)}`;
  };
  const repository = parameter('repository', selection.repository);
  const run = parameter('run', selection.runId);
  const level = parameter('level', selection.level);
  const since = parameter('since', selection.since);
  const until = parameter('until', selection.until);
  const before = parameter('before', selection.beforeId);

  const isRun = run && `log.run_id = ${run}::bigint`;
  const moments = [
    since && `log.created_at >= ${since}::timestamptz`,
    until && `log.created_at < ${until}::timestamptz`,
    before && `(log.created_at, log.id) < (${placeOf(before)})`,
    // A repository's logs are found by time: otherwise all of them would be searched for the run.
    ...(repository && run
      ? [isRun, `log.created_at BETWEEN ${endOfRun(run, 'ASC')} AND ${endOfRun(run, 'DESC')}`]
      : []),
  ].filter((condition) => condition !== null);
  const conditions = [
    'true',
    repository && `${nameOf('log.')} = lower(${repository})`,
    repository ? null : isRun,
    level && `lower(log.level) = ${level}`,
    ...moments,
  ].filter((condition) => condition !== null);
  return {
    name: given.join('_'),
    isNarrow: given.length > 0 ? 'true' : 'false',
    newest: (most) =>
      repository && !level
        ? newestOfEachLevel(`lower(${repository})`, moments, most)
        : `SELECT * FROM execution_logs AS log WHERE ${conditions.join(' AND ')}
           ${newestFirst} LIMIT ${most}`,
    // Written so that no index fits: the search reads only the rows that its own index finds.
    condition: `concat_ws(' AND ', 'true'${[
      repository && format(`${nameOf('')} = %L`, `lower(${repository})`),
      run && format('run_id = %L::bigint', `${run}::text`),
      level && format('lower(level) = %L', `${level}::text`),
      since && format('created_at >= %L::timestamptz', `${since}::text`),
      until && format('created_at < %L::timestamptz', `${until}::text`),
      before &&
        format(
          '(created_at, id) < (%L::timestamptz, %L::bigint)',
          `(SELECT created_at FROM (${placeOf(before)}) AS place)`,
          `${before}::text`,
        ),
    ]
      .filter((condition) => condition !== null)
      .map((condition) => `, ${condition}`)
      .join('')})`,
    anchored: before ? `EXISTS (${placeOf(before)})` : 'true',
  };
}

/** SQL that quotes values into a condition. */
const format = (condition: string, ...values: string[]) =>
  `format('(${condition}) IS TRUE', ${values.join(', ')})`;

/**
 * The newest logs of a repository. The index starts with repository and level, so this finds the
 * repository's levels with a loose index scan and reads the newest logs of each level.
 */
const newestOfEachLevel = (repository: string, conditions: readonly string[], most: string) => `
  WITH RECURSIVE level AS (
    (SELECT lower(level) AS name FROM execution_logs WHERE ${nameOf('')} = ${repository}
     ORDER BY lower(level) LIMIT 1)
    UNION ALL
    SELECT (SELECT lower(level) FROM execution_logs
            WHERE ${nameOf('')} = ${repository} AND lower(level) > level.name
            ORDER BY lower(level) LIMIT 1)
    FROM level WHERE level.name IS NOT NULL
  )
  SELECT log.* FROM level CROSS JOIN LATERAL (
    SELECT * FROM execution_logs AS log
    WHERE ${[`${nameOf('log.')} = ${repository}`, 'lower(log.level) = level.name', ...conditions].join(' AND ')}
    ${newestFirst} LIMIT ${most}
  ) AS log ${newestFirst} LIMIT ${most}`;
