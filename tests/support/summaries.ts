import type { Client } from 'pg';

const kept = {
  logs: `SELECT run_key, level, hour, sum(log_count) AS figure FROM execution_log_counts
    GROUP BY 1, 2, 3 HAVING sum(log_count) <> 0`,
  results: `SELECT run_key, sum(archive_size_bytes) AS figure FROM backup_result_totals
    GROUP BY 1 HAVING sum(archive_size_bytes) <> 0`,
};
const counted = {
  logs: `SELECT coalesce(run_id, 4294967296) AS run_key, lower(coalesce(level, '')) AS level,
    date_trunc('hour', created_at, 'UTC') AS hour, count(*)::numeric AS figure
    FROM execution_logs GROUP BY 1, 2, 3`,
  results: `SELECT coalesce(run_id, 4294967296) AS run_key, sum(archive_size_bytes) AS figure
    FROM backup_results GROUP BY 1 HAVING sum(archive_size_bytes) <> 0`,
};

/** Every total in which a summary differs from a count over its table, as this connection sees it. */
export async function findWrongFigures(client: Client): Promise<unknown[]> {
  const wrong: unknown[] = [];
  for (const table of ['logs', 'results'] as const) {
    const { rows } = await client.query(`
      SELECT to_json(kept) AS kept, to_json(counted) AS counted
      FROM (${kept[table]}) AS kept FULL JOIN (${counted[table]}) AS counted
        ON row(kept.*) = row(counted.*)
      WHERE kept IS NULL OR counted IS NULL`);
    wrong.push(...rows);
  }
  return wrong;
}

/** How many rows the summaries have. */
export async function countSummaryRows(client: Client): Promise<{ logs: number; results: number }> {
  const { rows } = await client.query<{ logs: number; results: number }>(`
    SELECT (SELECT count(*)::int FROM execution_log_counts) AS logs,
      (SELECT count(*)::int FROM backup_result_totals) AS results`);
  return rows[0] ?? { logs: 0, results: 0 };
}

/** Some runs, results and logs with every kind of value that a summary has to group. */
export const someRows = `
  ALTER TABLE execution_logs ALTER COLUMN level DROP NOT NULL;
  INSERT INTO backup_runs SELECT FROM generate_series(1, 40);
  INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
    SELECT 1 + n % 40, 'o/r' || n % 7, nullif(n % 5, 0) * 1000 FROM generate_series(1, 200) AS n;
  INSERT INTO execution_logs (run_id, level, repository, created_at)
    SELECT nullif(n % 40, 0), (ARRAY['info', 'INFO', 'warn', 'Error', NULL])[1 + n % 5], 'o/r' || n % 7,
      '2024-05-01T23:00:00+02:00'::timestamptz + n * interval '10 minutes'
    FROM generate_series(1, 400) AS n;`;
