import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach } from 'vitest';
import type { TestDatabase } from './databases.ts';
import { latest } from './hooks.ts';
import type { HostedWorker } from './hosted-worker.ts';
import { descendantsOf, ended } from './processes.ts';
import { type RunningScript, startScript } from './script.ts';
import { rowsOf } from './worker.ts';

/** Kills a worker, and resolves when its git processes have ended as well. */
export async function killWorker({ child, finished }: RunningScript): Promise<void> {
  const below = await descendantsOf(child.pid ?? 0);
  child.kill('SIGKILL');
  await finished;
  await ended(below.map(({ pid }) => pid));
}

/** Machines with the same database and archive folder, each with its own DATA_DIR. */
export interface Fleet {
  /** Starts `worker run --join` on a machine, one repository at a time. */
  start(machine: string, args?: string[], env?: Record<string, string>): RunningScript;
  /** Holds every request for a repository. `came` resolves with the first one. */
  hold(repository: string): { came: Promise<void>; release(): void };
  /** Makes the member's last sign of life three minutes old in the database. */
  loseLease(which: 'starter' | 'joiner'): Promise<void>;
  /** The results of all runs: how often each repository has which result. */
  results(): Promise<Record<string, unknown>[]>;
  runs(): Promise<Record<string, unknown>[]>;
  /** Starts two machines, each in the middle of a repository until `release`. */
  startTwo(
    env?: Record<string, string>,
  ): Promise<{ first: RunningScript; second: RunningScript; release(): void }>;
  /** How many rows of shared runs are left. */
  left(): Promise<Record<string, unknown>[]>;
}

/** The repositories of `useFleet`. */
const names = ['team/a', 'team/b', 'team/c', 'team/d'];
/** What `results` returns when each of them was backed up once. */
export const eachOnce = names.map((repository) => ({
  ...{ repository, status: 'completed', results: 1 },
}));
/** What `runs` returns for a run that backed up each of them once. */
export const completedRun = {
  ...{ status: 'completed', error_message: '', total_repos: 4, successful: 4, failed: 0 },
  ...{ exclusive_key: null, progress: null },
};

/** A fleet for each test, logged in to a host with four repositories. */
export function useFleet(database: TestDatabase, bench: HostedWorker): Fleet {
  let fleet: Fleet;
  beforeEach(async () => {
    await bench.logIn();
    for (const fullName of names) await bench.add({ fullName });
    fleet = openFleet(database, bench);
  });
  return latest(() => fleet);
}

export function openFleet(database: TestDatabase, bench: HostedWorker): Fleet {
  const fleet: Fleet = {
    start(machine, args = [], env = {}) {
      const cwd = join(bench.folder, machine);
      mkdirSync(cwd, { recursive: true });
      return startScript('worker', {
        args: ['run', '--join', ...args],
        cwd,
        env: {
          ...bench.env,
          DATABASE_URL: database.url,
          DATA_DIR: join(cwd, 'data'),
          BACKUP_ARCHIVE_PATH: bench.archives,
          DRILL_BUDGET_MINUTES: '0',
          BACKUP_CONCURRENCY: '1',
          ...env,
        },
      });
    },
    hold(repository) {
      const came = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      bench.http.answers.set(repository, async (c) => {
        const { signal } = c.req.raw;
        came.resolve();
        await released.promise;
        // The worker may have been killed meanwhile.
        return signal.aborted ? c.body(null, 408) : bench.http.serve(c);
      });
      return { came: came.promise, release: released.resolve };
    },
    async loseLease(which) {
      const gone = `SELECT id FROM run_members WHERE is_starter = ${which === 'starter'}`;
      const ago = "now() - interval '3 minutes 1 second'";
      await database.db.query({
        text: `UPDATE run_jobs SET lease_until = now() - interval '1 second'
          WHERE state = 'open' AND claimed_by IN (${gone})`,
      });
      await database.db.query({
        text: `UPDATE run_members SET seen_at = ${ago} WHERE id IN (${gone})`,
      });
    },
    results: () =>
      rowsOf(
        database.db,
        `SELECT repo_full_name AS repository, status, count(*)::int AS results
          FROM backup_results GROUP BY 1, 2 ORDER BY 1, 2`,
      ),
    runs: () =>
      rowsOf(
        database.db,
        `SELECT status, error_message, total_repos, successful, failed, exclusive_key, progress
          FROM backup_runs ORDER BY id`,
      ),
    async startTwo(env = {}) {
      const [a, b] = [fleet.hold('team/a'), fleet.hold('team/b')];
      const first = fleet.start('one', [], env);
      await a.came;
      const second = fleet.start('two', [], env);
      await b.came;
      const release = () => {
        a.release();
        b.release();
      };
      return { first, second, release };
    },
    left: () =>
      rowsOf(
        database.db,
        `SELECT (SELECT count(*) FROM run_jobs)::int AS jobs,
          (SELECT count(*) FROM run_members)::int AS members`,
      ),
  };
  return fleet;
}
