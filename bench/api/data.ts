import type { Client } from 'pg';
import { times } from '../share.ts';

/** How many rows to create. */
export interface Scale {
  runs: number;
  resultsPerRun: number;
  logsPerRun: number;
  repositories: number;
}

/** 2,000 runs, 1,000,000 results of 1,000 repositories and 5,000,000 logs, 3,000,000 of them info. */
export const fullScale: Scale = {
  runs: 2_000,
  resultsPerRun: 500,
  logsPerRun: 2_500,
  repositories: 1_000,
};

/** 5 runs of 20,000 repositories: few rows, but each answer is about all of them. */
export const manyRepositories: Scale = {
  runs: 5,
  resultsPerRun: times(20_000),
  logsPerRun: times(2_500),
  repositories: times(20_000),
};

/**
 * Fills a migrated database: hourly runs up to now, each with half of the repositories, logs of four levels spread over
 * 40 minutes, one snapshot per run, and a fix for every twentieth run.
 */
export async function generate(client: Client, scale: Scale): Promise<void> {
  const { runs, resultsPerRun, logsPerRun, repositories } = scale;
  const steps: [string, string][] = [
    [
      `${runs} runs`,
      `INSERT INTO backup_runs (status, started_at, completed_at, total_repos, successful, failed,
                                skipped, duration_ms)
       SELECT CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END,
              now() - make_interval(hours => ${runs} - n),
              now() - make_interval(hours => ${runs} - n) + interval '41 minutes',
              ${resultsPerRun}, ${resultsPerRun} - n % 7, n % 7, 0, 2460000 + n
       FROM generate_series(1, ${runs}) AS n`,
    ],
    [
      `${runs * resultsPerRun} results`,
      `INSERT INTO backup_results (run_id, repo_full_name, status, commit_hash, archive_size_bytes,
                                   duration_ms, error_message, created_at)
       SELECT run.id, 'owner-' || repo % 20 || '/repository-' || repo,
              CASE WHEN n % 90 = 0 THEN 'failed' ELSE 'completed' END, md5(run.id || '-' || n),
              1000 + (hashint4(run.id * 1000 + n) & 268435455), 200 + n % 900,
              CASE WHEN n % 90 = 0 THEN 'fatal: unable to access the remote' ELSE '' END,
              run.started_at + make_interval(secs => n * 4.5)
       FROM backup_runs AS run, generate_series(1, ${resultsPerRun}) AS n,
            LATERAL (SELECT (run.id * ${resultsPerRun} + n) % ${repositories} AS repo) AS picked`,
    ],
    [
      `${runs * logsPerRun} logs`,
      `INSERT INTO execution_logs (run_id, level, message, repository, created_at)
       SELECT run.id,
              CASE WHEN n % 20 < 12 THEN 'info' WHEN n % 20 < 16 THEN 'debug'
                   WHEN n % 20 < 19 THEN 'warn' ELSE 'error' END,
              'step ' || n || ' of the backup of repository-' || n % ${repositories},
              'owner-' || n % 20 || '/repository-' || n % ${repositories},
              run.started_at + make_interval(secs => n * 0.9)
       FROM backup_runs AS run, generate_series(1, ${logsPerRun}) AS n`,
    ],
    [
      `${runs} snapshots`,
      `INSERT INTO analytics_snapshots (run_id, captured_at, head_commit, total_commits)
       SELECT id, completed_at, md5(id::text), id * 10 FROM backup_runs`,
    ],
    [
      'fixes',
      `WITH fix AS (
         INSERT INTO backup_fixes (title, author)
         SELECT 'fix ' || n, 'somebody' FROM generate_series(1, ${runs / 20}) AS n RETURNING id
       ) INSERT INTO backup_run_fixes SELECT id * 20, id FROM fix`,
    ],
    ['statistics', 'VACUUM (ANALYZE)'],
  ];
  for (const [what, sql] of steps) {
    const start = performance.now();
    await client.query(sql);
    process.stderr.write(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
  }
}
