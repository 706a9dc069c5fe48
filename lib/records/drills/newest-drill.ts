/**
 * SQL for whether a row `drill` counts at the time `now`. A drill that is further ahead was recorded with a wrong
 * clock, and would prove its repository forever.
 */
export const hasHappened = (now: string, drill = 'drill') =>
  `${drill}.started_at <= ${now} + interval '5 minutes'`;

/** SQL for whether a repository has an archive, by its name. Uses an index. */
export const hasArchive = (name: string) => `EXISTS (
    SELECT FROM worker_repo_state AS state WHERE state.repo_full_name = ${name} AND state.archive_key <> ''
  )`;

/**
 * SQL for whether a row `drill` proves a repository. That it was proven empty says nothing about an archive that it has
 * since.
 */
export const proves = (name: string) => `drill.outcome = 'proven'
    AND (NOT drill.evidence @> '{"empty": true}' OR NOT ${hasArchive(name)})`;

/** SQL for columns of the newest drill of a row `repository` that meets a condition on `drill`. Uses an index. */
const newestDrill = (columns: string, condition: string, now: string) => `
  SELECT ${columns} FROM restore_drills AS drill
  WHERE lower(drill.repository_name) = lower(repository.repo_full_name) AND ${condition}
    AND ${hasHappened(now)}
  ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1`;

/** SQL for columns of the last drill of a row `repository`. */
export const lastDrill = (columns: string, now: string) => newestDrill(columns, 'true', now);

/** SQL for columns of the drill that last proved a row `repository`. */
export const lastProof = (columns: string, now: string) =>
  newestDrill(columns, proves('repository.repo_full_name'), now);

/**
 * SQL for the failed drills that still count, at most one per repository, with its name in lower case as `key`. The
 * failure that was recorded last counts until a later drill proves the repository; an incomplete drill changes nothing.
 * The failure does not end with a proof from a clock that is ahead, nor with one that was recorded before it but has a
 * later time. Reads every failed drill; there are few.
 */
export const standingFailures = (now: string) => `
  SELECT tried.key, failure.* FROM (
    SELECT lower(repository_name) AS key, max(id) AS id
    FROM restore_drills WHERE outcome = 'failed' GROUP BY 1
  ) AS tried
  CROSS JOIN LATERAL (SELECT * FROM restore_drills AS drill WHERE drill.id = tried.id LIMIT 1) AS failure
  WHERE (
    SELECT drill.id FROM restore_drills AS drill
    WHERE lower(drill.repository_name) = tried.key AND drill.outcome = 'proven' AND drill.id > failure.id
      AND ${hasHappened(now)}
      AND (drill.started_at > failure.started_at OR NOT ${hasHappened(now, 'failure')})
    ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1
  ) IS NULL`;

/**
 * SQL for columns of the drill that decides the state of a row `repository`: the failed one that still counts, else the
 * last one.
 */
export const standingDrill = (columns: string, now: string) => `
  SELECT ${columns} FROM restore_drills AS drill WHERE drill.id = coalesce(
    (SELECT failure.id FROM (${standingFailures(now)}) AS failure
      WHERE failure.key = lower(repository.repo_full_name)),
    (${lastDrill('drill.id', now)})
  )`;
