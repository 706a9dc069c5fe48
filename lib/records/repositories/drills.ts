/** SQL for the newest restore drill of a row `repository` that meets a condition on `drill`, by an index. */
export const newestDrill = (condition: string) => `
  SELECT drill.outcome, drill.started_at FROM restore_drills AS drill
  WHERE lower(drill.repository_name) = lower(repository.repo_full_name) AND ${condition}
  ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1`;
