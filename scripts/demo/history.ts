import type { Database, Statement } from '../../lib/database/database.ts';
import { createRandom } from './random.ts';
import { type DemoRepository, demoRepositories, LOST } from './repositories.ts';

const DAYS = 60;
/** When the repository that is no longer a source was last backed up. */
export const DROPPED_DAYS_AGO = 12;
const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;

/** A temporary problem and its fix. */
interface Trouble {
  /** Its first and last day, in days ago. */
  from: number;
  to: number;
  /** Empty: the run itself fails. */
  repositories: readonly string[];
  error: string;
  fix: { title: string; description: string } | null;
}

const troubles: readonly Trouble[] = [
  {
    from: 47,
    to: 45,
    repositories: ['api-server', 'billing', 'website'],
    error:
      'git clone failed: fatal: unable to access the remote: Could not resolve host: git.example.com',
    fix: {
      title: 'Give the backup machine a second resolver',
      description:
        "The machine's only name server was down for two days. It now has two, from different providers.",
    },
  },
  {
    from: 30,
    to: 30,
    repositories: [],
    error: 'the archive folder is full: No space left on device',
    fix: {
      title: 'Move the archives to a 2 TB disk',
      description:
        'The old disk was full. At the current growth, the new one has room for two years.',
    },
  },
  {
    from: 18,
    to: 16,
    repositories: ['mobile-app', 'data-pipeline'],
    error: 'git clone failed: fatal: Authentication failed',
    fix: {
      title: "Renew the mobile team's token",
      description: "It had expired. The team's calendar now has a reminder two weeks ahead.",
    },
  },
  {
    from: 4,
    to: 1,
    repositories: [LOST],
    error: `there is no folder ${LOST}: it was moved or deleted`,
    fix: null,
  },
];

interface HistoryRow {
  run: number;
  at: string;
}
interface RunRow extends HistoryRow {
  status: string;
  total: number;
  successful: number;
  failed: number;
  skipped: number;
  duration_ms: number;
  error: string;
  archive_count: number;
  archive_bytes: number;
}
interface ResultRow extends HistoryRow {
  repository: string;
  status: string;
  commit: string;
  bytes: number;
  duration_ms: number;
  error: string;
}
interface LogRow extends HistoryRow {
  level: string;
  repository: string | null;
  message: string;
}

// `run` counts from 0 here; the database assigns the ids in the same order.
const insertHistory: Statement = {
  text: `WITH given AS (
      SELECT * FROM json_to_recordset($1::json) AS run (run int, at timestamptz, status text, total int,
        successful int, failed int, skipped int, duration_ms bigint, error text, archive_count int,
        archive_bytes bigint)
    ), numbered AS (
      SELECT *, nextval(pg_get_serial_sequence('backup_runs', 'id'))::int AS id FROM given ORDER BY run
    ), runs AS (
      INSERT INTO backup_runs (id, status, started_at, completed_at, heartbeat_at, total_repos,
        successful, failed, skipped, duration_ms, error_message)
      SELECT id, status, at, at + duration_ms * interval '1 ms', at + duration_ms * interval '1 ms',
        total, successful, failed, skipped, duration_ms, error
      FROM numbered ORDER BY id RETURNING id
    ), snapshots AS (
      INSERT INTO analytics_snapshots (run_id, captured_at, archive_count, total_archive_size_bytes)
      SELECT id, at, archive_count, archive_bytes FROM numbered WHERE status = 'completed' ORDER BY id
    ), results AS (
      INSERT INTO backup_results (run_id, repo_full_name, status, commit_hash, archive_size_bytes,
        duration_ms, error_message, created_at)
      SELECT numbered.id, repository, result.status, commit, bytes, result.duration_ms, result.error,
        result.at
      FROM json_to_recordset($2::json) AS result (run int, at timestamptz, repository text, status text,
        commit text, bytes bigint, duration_ms bigint, error text) JOIN numbered USING (run)
      WHERE EXISTS (SELECT FROM runs) ORDER BY result.at
    ), logs AS (
      INSERT INTO execution_logs (run_id, level, repository, message, created_at)
      SELECT numbered.id, level, repository, message, log.at
      FROM json_to_recordset($3::json) AS log (run int, at timestamptz, level text, repository text,
        message text) JOIN numbered USING (run) ORDER BY log.at
    ), states AS (
      INSERT INTO worker_repo_state (repo_full_name, checked_at)
      SELECT repository, max(log.at)
      FROM json_to_recordset($3::json) AS log (at timestamptz, level text, repository text)
      WHERE level = 'info' AND repository IS NOT NULL GROUP BY repository
    ), fixes AS (
      INSERT INTO backup_fixes (title, description, author, created_at, updated_at)
      SELECT title, description, 'Demo', at, at
      FROM json_to_recordset($4::json) AS fix (title text, description text, at timestamptz) ORDER BY at
      RETURNING id, title
    )
    INSERT INTO backup_run_fixes (run_id, fix_id)
    SELECT numbered.id, fixes.id
    FROM json_to_recordset($4::json) AS fix (title text, runs int[]) JOIN fixes USING (title)
      JOIN numbered ON numbered.run = ANY (fix.runs)`,
};

/** The times of what a run records about its repositories. */
const times = {
  backup_runs: ['started_at', 'completed_at', 'heartbeat_at'],
  backup_results: ['created_at'],
  execution_logs: ['created_at'],
  analytics_snapshots: ['captured_at'],
  archive_versions: ['created_at'],
  archive_stores: ['stored_at', 'tried_at', 'unused_since'],
  worker_repo_state: ['updated_at', 'checked_at'],
} as const;

/** Moves everything recorded so far into the past, as if the runs had been that many days ago. */
export async function moveIntoPast(db: Database, days: number): Promise<void> {
  for (const [table, columns] of Object.entries(times)) {
    const moved = columns.map((name) => `${name} = ${name} - interval '${days} days'`);
    await db.query({ text: `UPDATE ${table} SET ${moved.join(', ')}` });
  }
}

/**
 * Adds 60 days of daily runs of the demo's repositories to a database: growth, failures and what fixed them. The last
 * run was a day before `now`, in milliseconds since the epoch.
 */
export async function insertDemoHistory(db: Database, now: number): Promise<void> {
  const { runs, results, logs, fixes } = makeHistory(now);
  await db.query(
    insertHistory,
    [runs, results, logs, fixes].map((rows) => JSON.stringify(rows)),
  );
}

function makeHistory(now: number) {
  const random = createRandom(42);
  const runs: RunRow[] = [];
  const results: ResultRow[] = [];
  const logs: LogRow[] = [];
  const kept = new Map<string, number>();
  for (let daysAgo = DAYS; daysAgo >= 1; daysAgo--) {
    const run = runs.length;
    const startedAt = now - daysAgo * DAY_MS + random() * 60 * SECOND_MS;
    let clock = startedAt;
    const at = () => new Date(clock).toISOString();
    const log = (level: string, repository: string | null, message: string) => {
      logs.push({ run, at: at(), level, repository, message });
    };
    const known = demoRepositories.filter(({ age }) => age >= daysAgo);
    const trouble = troubles.find(({ from, to }) => from >= daysAgo && to <= daysAgo);
    const counts = { successful: 0, failed: 0, skipped: 0 };
    log('info', null, `run started: ${known.length} repositories`);
    let error = '';
    for (const repository of known) {
      clock += (0.3 + random()) * SECOND_MS;
      const name = `local/${repository.name}`;
      if (trouble?.repositories.length === 0 && counts.successful + counts.skipped >= 3) {
        error = trouble.error;
        log('error', null, error);
        break;
      }
      if (trouble?.repositories.includes(repository.name)) {
        counts.failed += 1;
        log('error', name, trouble.error);
        const duration_ms = Math.round(400 + random() * 2_000);
        const failed = {
          status: 'failed',
          commit: '',
          bytes: 0,
          duration_ms,
          error: trouble.error,
        };
        results.push({ run, at: at(), repository: name, ...failed });
        continue;
      }
      if (kept.has(name) && random() > 1 / repository.changesEvery) {
        counts.skipped += 1;
        log('info', name, 'unchanged');
        continue;
      }
      const bytes = sizeOn(repository, daysAgo);
      const duration_ms = Math.round(800 + (bytes / 1024) * (1.5 + random()));
      clock += duration_ms;
      counts.successful += 1;
      kept.set(name, bytes);
      log('info', name, `archived ${formatKibibytes(bytes)} in local__${repository.name}.bundle`);
      const commit = Array.from({ length: 40 }, () => Math.floor(random() * 16).toString(16));
      const completed = { status: 'completed', commit: commit.join(''), bytes, duration_ms };
      results.push({ run, at: at(), repository: name, ...completed, error: '' });
    }
    const status = error === '' ? 'completed' : 'failed';
    log(error === '' ? 'info' : 'error', null, `run ${status}`);
    runs.push({
      run,
      at: new Date(startedAt).toISOString(),
      status,
      total: known.length,
      ...counts,
      duration_ms: Math.round(clock - startedAt),
      error,
      archive_count: kept.size,
      archive_bytes: [...kept.values()].reduce((sum, bytes) => sum + bytes, 0),
    });
  }
  const fixes = troubles.flatMap(({ from, to, fix }) => {
    const affected = Array.from({ length: from - to + 1 }, (_, day) => DAYS - from + day);
    const at = new Date(now - (to - 0.4) * DAY_MS).toISOString();
    return fix === null ? [] : [{ ...fix, at, runs: affected }];
  });
  return { runs, results, logs, fixes };
}

/** Grows evenly from 40 % to 100 % of the repository's real size. */
function sizeOn({ kibibytes, age }: DemoRepository, daysAgo: number): number {
  return Math.round(kibibytes * 1024 * (0.4 + 0.6 * (1 - daysAgo / age)));
}

function formatKibibytes(bytes: number): string {
  return `${Math.round(bytes / 1024)} KiB`;
}
