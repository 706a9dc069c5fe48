/** SQL for a moment in seconds since 1970; NULL for an infinite one. */
export const seconds = (moment: string) =>
  `CASE WHEN isfinite(${moment}) THEN extract(epoch FROM ${moment})::float8 END`;
