/**
 * SQL for whether a row `drill` counts at the time `now`. One from further ahead was recorded with a wrong clock, and
 * would prove its repository for ever.
 */
export const hasHappened = (now: string, drill = 'drill') =>
  `${drill}.started_at <= ${now} + interval '5 minutes'`;

/** SQL for the newest restore drill of a row `repository` that meets a condition on `drill`, by an index. */
const newestDrill = (columns: string, condition: string, now: string) => `
  SELECT ${columns} FROM restore_drills AS drill
  WHERE lower(drill.repository_name) = lower(repository.repo_full_name) AND ${condition}
    AND ${hasHappened(now)}
  ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1`;

/** SQL for `columns` of the restore drill that last proved a row `repository`. */
export const lastProof = (columns: string, now: string) =>
  newestDrill(columns, "drill.outcome = 'proven'", now);

/**
 * SQL for `columns` of the restore drill that says how a row `repository` stands: the last one, except that one that
 * failed stands until a later one proves the repository. Incomplete ones in between have found out nothing.
 */
export const standingDrill = (columns: string, now: string) => `
  SELECT ${columns} FROM (${newestDrill('drill AS whole', 'true', now)}) AS last
  LEFT JOIN LATERAL (${newestDrill(
    'drill AS whole',
    "(last.whole).outcome = 'incomplete' AND drill.outcome <> 'incomplete'",
    now,
  )}) AS settled ON (settled.whole).outcome = 'failed'
  CROSS JOIN LATERAL (SELECT (coalesce(settled.whole, last.whole)).*) AS drill`;
