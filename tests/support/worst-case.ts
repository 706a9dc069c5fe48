import type { Database } from '../../lib/database/database.ts';
import { empty, sql } from './records.ts';

/** A realistic run with 200 failed repositories: three causes, each with two short log lines. */
export async function fillWithTwoHundredFailures(db: Database): Promise<void> {
  await empty(db);
  await sql(
    db,
    `WITH run AS (
       INSERT INTO backup_runs (status, total_repos, failed, error_message, completed_at)
       VALUES ('completed', 220, 200, '200 repositories failed', now()) RETURNING id
     ), failure AS (
       SELECT run.id AS run_id, 'organization/service-' || n AS repository, n,
         CASE n % 3
           WHEN 0 THEN 'git clone --mirror of https://git.example/organization/service-' || n ||
             '.git failed after 3 attempts: fatal: unable to access: Could not resolve host: git.example'
           WHEN 1 THEN 'git fetch ended with exit code 128: remote: Repository not found. ' ||
             'fatal: repository organization/service-' || n || ' not found (request ' || md5(n::text) || ')'
           ELSE 'fatal: Authentication failed for https://git.example/organization/service-' || n || '.git'
         END AS message
       FROM run, generate_series(1, 200) AS n
     ), logged AS (
       INSERT INTO execution_logs (run_id, repository, level, message)
       SELECT run_id, repository, 'error', message || ', attempt ' || attempt
       FROM failure, generate_series(1, 2) AS attempt
     ), fixed AS (
       INSERT INTO backup_fixes (title, description, author)
       SELECT 'Fix ' || n, repeat('The token had expired and was renewed. ', 5), 'someone'
       FROM generate_series(1, 5) AS n
     )
     INSERT INTO backup_results (run_id, repo_full_name, status, error_message)
     SELECT run_id, repository, 'failed', message FROM failure
     UNION ALL
     SELECT run.id, 'organization/fine-' || n, 'completed', '' FROM run, generate_series(1, 20) AS n`,
  );
}

/**
 * Roughly the largest data that other writers may have stored, in run 3650: names of 10,000 characters, texts of 40 KiB
 * that JSON doubles or worse, 200 different errors, 200 fixes of one run, and a run a day for ten years.
 */
export async function fillWithWorstCase(db: Database): Promise<void> {
  await empty(db);
  const long = (text: string) => `(${text} || repeat(E'"\\\\\\x01e', 10240))`;
  const name = `'owner/' || repeat('n', 9990) || n`;
  await sql(
    db,
    `INSERT INTO backup_runs (status, total_repos, failed, started_at, error_message)
     SELECT 'failed', 200, 200, now() - n * interval '1 day',
       CASE WHEN n < 50 THEN ${long('n')} ELSE repeat('failed ', 100) END
     FROM generate_series(1, 3649) AS n`,
  );
  await sql(
    db,
    `WITH run AS (
       INSERT INTO backup_runs (status, total_repos, failed, error_message, completed_at)
       VALUES ('failed', 200, 200, ${long("'run'")}, now()) RETURNING id
     ), fix AS (
       INSERT INTO backup_fixes (title, description, author, commit_hash)
       SELECT left(${long('n')}, 5000), left(${long('n')}, 10000), left(${long("'author'")}, 5000), 'c0ffee'
       FROM generate_series(1, 200) AS n RETURNING id
     ), linked AS (
       INSERT INTO backup_run_fixes (run_id, fix_id) SELECT run.id, fix.id FROM run, fix
     ), logged AS (
       INSERT INTO execution_logs (run_id, repository, level, message)
       SELECT run.id, CASE WHEN n > 200 THEN NULL ELSE left(${name}, 255) END, 'error',
         'failing ' || CASE WHEN n > 340 THEN ${long('n')} ELSE repeat(n || ' "', 150) END
       FROM run, generate_series(1, 400) AS n
     )
     INSERT INTO backup_results (run_id, repo_full_name, status, error_message)
     SELECT run.id, ${name}, 'failed', 'failing in ' || chr(97 + n % 26) || chr(97 + n / 26) || ${long("' '")}
     FROM run, generate_series(1, 200) AS n`,
  );
}
