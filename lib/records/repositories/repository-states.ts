import type { Clock } from '../../clock.ts';
import { declaredInterval, type FreshnessConfig } from '../../config/freshness.ts';
import type { SqlValue } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { newestResults } from '../base/newest-results.ts';
import { iso } from '../base/page.ts';
import { proofColumns } from '../drills/states.ts';
import { isPartMissing } from '../recording/archive-looks.ts';
import { withGrace } from '../runs/grace.ts';
import { finishedRuns, learntInterval, MIN_GAPS, workerInterval } from '../runs/learnt-interval.ts';

/** How up to date a repository's backup is, worst first. */
export const repositoryStates = ['gone', 'never', 'lost', 'failing', 'stale', 'good'] as const;
export type RepositoryState = (typeof repositoryStates)[number];

/** The basis for judging freshness. */
export interface Judging {
  /** ISO 8601. */
  now: string;
  /** FRESHNESS_HOURS. */
  freshnessHours: number;
  /** BACKUP_EVERY in milliseconds; null: the time between runs is learnt. */
  scheduleMs: number | null;
}

/** The basis for judging freshness now. */
export function judgingNow({ clock, config }: { clock: Clock; config: FreshnessConfig }): Judging {
  const now = new Date(clock.now()).toISOString();
  return { now, freshnessHours: config.FRESHNESS_HOURS, scheduleMs: declaredInterval(config) };
}

/** The parameters of `judgingBy`, in its order. */
export const judgingValues = ({ now, freshnessHours, scheduleMs }: Judging): SqlValue[] => [
  now,
  freshnessHours,
  scheduleMs,
];

/** SQL for the time as of which the CTE `judging` judges. */
export const JUDGED_AT = '(SELECT now FROM judging)';

/** Maximum number of failures that are counted since the last good result. */
export const MAX_FAILURES_COUNTED = 1_000;

/** Runs that are more than a month apart are no schedule. */
const MAX_LEARNT_HOURS = 806;
const HOUR_MS = 3_600_000;
/**
 * Learnt intervals are rounded to quarters of an hour: daily runs start a little later each day, but their limit should
 * be that of 24 hours.
 */
const QUARTER_MS = HOUR_MS / 4;

const MAX_ERROR_LENGTH = 1_000;
const LAST_ID = 2_147_483_647;

/** Kinds of failures of a repository that no longer exists at its source, or is empty there. */
const GONE = "('missing', 'emptied')";

/** SQL condition for results after which a repository is backed up. An empty one has nothing to archive. */
const isGood = (status: string) => `${status} IN ('completed', 'success', 'empty')`;

/** SQL for the newest of a repository's results that meet a condition, by a partial index. */
const newestOf = (repository: string, condition: string) => `
  SELECT created_at, id FROM backup_results AS result
  WHERE result.repo_full_name = ${repository} AND ${condition}
  ORDER BY result.created_at DESC, result.id DESC LIMIT 1`;

/**
 * The CTEs `usual`, with `interval_ms`, and `judging`, with `now` and `fresh_since`: a repository last good before then
 * is not fresh. The interval is the declared one, else that of the worker's `--every`, else the median time between the
 * starts of the last finished runs that nobody stopped or started by hand; with fewer than 3 such runs there is no row.
 * A backup may be FRESHNESS_HOURS old, or older where runs are further apart. Takes the parameters of a Judging.
 */
export const judgingBy = (now: string, freshnessHours: string, scheduleMs: string) => `
  ${finishedRuns},
  declared AS MATERIALIZED (
    SELECT ${scheduleMs}::float8 AS interval_ms WHERE ${scheduleMs}::float8 IS NOT NULL
    UNION ALL
    SELECT interval_ms FROM (${workerInterval}) AS worker WHERE ${scheduleMs}::float8 IS NULL
  ),
  usual AS MATERIALIZED (
    SELECT interval_ms, true AS is_declared FROM declared
    UNION ALL
    SELECT round(median_ms), false FROM (${learntInterval}) AS learnt
    WHERE gaps >= ${MIN_GAPS} AND is_usual AND NOT EXISTS (SELECT FROM declared)
  ),
  judging AS MATERIALIZED (
    SELECT fresh_hours, ${now}::timestamptz AS now,
      ${now}::timestamptz - fresh_hours * interval '1 hour' AS fresh_since
    FROM (
      SELECT greatest(${freshnessHours}::int, (
        SELECT CASE
          WHEN is_declared THEN ceil(${withGrace('interval_ms')} / ${HOUR_MS})
          ELSE least(ceil(${withGrace(`round(interval_ms / ${QUARTER_MS}) * ${QUARTER_MS}`)} / ${HOUR_MS}), ${MAX_LEARNT_HOURS})
        END FROM usual
      ))::int AS fresh_hours
    ) AS hours
  )`;

/**
 * SQL for the rows of a CTE with the columns of `newest` (repos.ts), each with its state, beside the CTEs of
 * `judgingBy`. Everything that shows how fresh a repository is uses this:
 *
 * - `gone`: its archive, or a file of it, is missing in the archive folder, and no store has a copy.
 * - `never`: there is no good result, and no run found it good.
 * - `lost`: like `failing`, because it no longer exists at its source, is hidden from the login, or is empty now.
 * - `failing`: the newest result is a failure, and nothing good came after it.
 * - `stale`: it does not fail, but was last good before `fresh_since`.
 * - `good`: everything else.
 *
 * `last_good_at` is the time of the last good result, or when a run last found it unchanged, if that is later. Results
 * after (`last_good_at`, `last_good_id`) are failures. Only repositories whose newest result is a failure are looked up
 * in backup_results.
 */
export const withStates = (source: string) => `
  SELECT found.*, CASE
    WHEN is_archive_gone THEN 'gone'
    WHEN last_good_at IS NULL THEN 'never'
    WHEN is_failing AND fault IN ${GONE} THEN 'lost'
    WHEN is_failing THEN 'failing'
    WHEN last_good_at < (SELECT fresh_since FROM judging) THEN 'stale'
    ELSE 'good' END AS state
  FROM (
    SELECT newest.*, is_failing, greatest(newest.created_at, checked_at) AS last_checked_at,
      CASE WHEN is_failing THEN greatest(good.created_at, checked_at)
           WHEN ${isGood('newest.status')} THEN greatest(newest.created_at, checked_at)
           ELSE checked_at END AS last_good_at,
      CASE WHEN good.created_at >= checked_at OR checked_at IS NULL THEN good.id
           ELSE ${LAST_ID} END AS last_good_id, last.fault, archive_missing_since, is_part_missing, archive_seen_at,
      has_archive,
      CASE WHEN archive_missing_since IS NULL THEN false ELSE NOT EXISTS (
        SELECT FROM archive_stores AS copy
        WHERE lower(copy.repo_full_name) = lower(newest.repo_full_name) AND copy.stored_at IS NOT NULL
      ) END AS is_archive_gone
    FROM ${source} AS newest
    LEFT JOIN (
      SELECT lower(repo_full_name) AS name, max(checked_at) AS checked_at,
        max(archive_missing_since) AS archive_missing_since, bool_or(${isPartMissing}) AS is_part_missing,
        max(archive_seen_at) AS archive_seen_at,
        bool_or(coalesce(archive_key, '') <> '') AS has_archive
      FROM worker_repo_state GROUP BY 1
    ) AS checked ON checked.name = lower(newest.repo_full_name)
    CROSS JOIN LATERAL (
      SELECT (${isGood('newest.status')}) IS NOT TRUE
        AND (checked_at > newest.created_at) IS NOT TRUE AS is_failing
    ) AS judged
    LEFT JOIN LATERAL (
      SELECT either.* FROM (
        (${newestOf('newest.repo_full_name', `status IN ('completed', 'success')`)})
        UNION ALL (${newestOf('newest.repo_full_name', `status = 'empty'`)})
      ) AS either WHERE is_failing ORDER BY created_at DESC, id DESC LIMIT 1
    ) AS good ON true
    LEFT JOIN LATERAL (
      SELECT one.fault FROM (
        SELECT fault FROM backup_results AS result WHERE result.id = newest.result_id LIMIT 1
      ) AS one WHERE is_failing LIMIT 1
    ) AS last ON true
  ) AS found`;

/** The CTEs of all tracked repositories with their states: `known`, after `judging`. Takes the parameters of a Judging. */
export const knownRepositories = `${newestResults},
    ${judgingBy('$1', '$2', '$3')},
    known AS MATERIALIZED (${withStates('newest')})`;

/** SQL for a row with the number of repositories in total and in each state, from rows of `withStates`. */
export const stateCountsSql = (source: string) =>
  `SELECT count(*) AS total, ${[...repositoryStates]
    .reverse()
    .map((state) => `count(*) FILTER (WHERE state = '${state}') AS ${state}`)
    .join(', ')} FROM ${source}`;

const hasFailed = "state IN ('failing', 'lost', 'never', 'gone')";

/**
 * SQL for the failures of a row `repository` of `withStates` since it was last good; none if its newest result is good.
 */
export const failuresSinceGood = `backup_results AS result
  WHERE result.repo_full_name = repository.repo_full_name AND ${hasFailed}
    AND (result.created_at, result.id) > (coalesce(last_good_at, '-infinity'), coalesce(last_good_id, 0))`;

/** SQL for how often a row `repository` of `withStates` failed since it was last good, up to a limit. */
export const consecutiveFailures = `(SELECT count(*) FROM (
    SELECT FROM ${failuresSinceGood} LIMIT ${MAX_FAILURES_COUNTED}
  ) AS failure)`;

const MAX_SOURCE_LENGTH = 1_000;

/** SQL for where a row `repository` is read. Null if no run has recorded it. */
const sourceColumn = `(SELECT ${cutTextSql('source.address', MAX_SOURCE_LENGTH)} FROM repository_sources AS source
   WHERE lower(source.repo_full_name) = lower(repository.repo_full_name)
   ORDER BY source.repo_full_name = repository.repo_full_name DESC LIMIT 1)`;

/**
 * The columns of a TrackedRepository in order, from a row `repository` of `withStates`. Looks up the failures
 * of each row, so it is for the rows of one page.
 */
export const repositoryColumns = `
  repo_full_name AS full_name, status AS last_status, coalesce(commit_hash, '') AS last_commit_hash,
  coalesce(archive_size_bytes, 0) AS archive_size_bytes, ${iso('created_at')} AS last_backed_up,
  state, ${iso('last_good_at')} AS last_good_at,
  CASE WHEN isfinite(last_good_at) THEN greatest(0,
    extract(epoch FROM ${JUDGED_AT} - last_good_at) * 1000)::bigint END AS last_good_age_ms,
  CASE WHEN archive_missing_since IS NULL THEN (SELECT version FROM archive_versions AS made
    WHERE lower(made.repo_full_name) = lower(repository.repo_full_name) AND made.pruned_at IS NULL
    ORDER BY made.version DESC LIMIT 1)
  ELSE (SELECT max(version) FROM archive_stores AS copy
    WHERE lower(copy.repo_full_name) = lower(repository.repo_full_name) AND copy.stored_at IS NOT NULL)
  END AS last_good_version,
  ${iso('last_checked_at')} AS last_checked_at,
  (SELECT ${iso('result.created_at')} FROM ${failuresSinceGood}
   ORDER BY result.created_at, result.id LIMIT 1) AS failing_since,
  ${consecutiveFailures} AS consecutive_failures,
  coalesce((SELECT ${cutTextSql('result.error_message', MAX_ERROR_LENGTH)} FROM backup_results AS result
    WHERE result.id = repository.result_id AND ${hasFailed}), '') AS error_message,
  fault, ${sourceColumn} AS source, ${proofColumns(JUDGED_AT)},
  json_build_object(
    'state', CASE WHEN archive_missing_since IS NOT NULL THEN
      CASE WHEN is_part_missing THEN 'incomplete' ELSE 'missing' END WHEN archive_seen_at IS NOT NULL THEN 'there'
      WHEN has_archive OR status IN ('completed', 'success') OR EXISTS (
        SELECT FROM backup_results AS result WHERE result.repo_full_name = repository.repo_full_name
          AND result.status IN ('completed', 'success')
      ) THEN 'unknown' ELSE 'none' END,
    'seen_at', ${iso('archive_seen_at')}, 'missing_since', ${iso('archive_missing_since')},
    'copies', (SELECT count(DISTINCT store) FROM archive_stores AS copy
      WHERE lower(copy.repo_full_name) = lower(repository.repo_full_name) AND copy.stored_at IS NOT NULL)
  ) AS archive`;

/**
 * SQL by which rows `repository` of `withStates` are ordered: worst state first, and within a state the one last good
 * longest ago.
 */
export const worstKeys = [
  `array_position(ARRAY['${repositoryStates.join("', '")}'], repository.state)`,
  'repository.last_good_at',
  'repository.repo_full_name',
];
export const worstFirst = worstKeys.join(', ');
