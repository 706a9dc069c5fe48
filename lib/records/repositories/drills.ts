/**
 * SQL for whether a row `drill` counts at the time `now`. One from further ahead was recorded with a wrong clock, and
 * would prove its repository for ever.
 */
export const hasHappened = (now: string, drill = 'drill') =>
  `${drill}.started_at <= ${now} + interval '5 minutes'`;

/** SQL for the newest restore drill of a row `repository` that meets a condition on `drill`, by an index. */
export const newestDrill = (condition: string, now: string) => `
  SELECT drill.outcome, drill.started_at FROM restore_drills AS drill
  WHERE lower(drill.repository_name) = lower(repository.repo_full_name) AND ${condition}
    AND ${hasHappened(now)}
  ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1`;
