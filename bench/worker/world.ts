import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../lib/clock.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { connect, databaseUrl } from '../../tests/support/connection.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { WORKER_FLAGS } from '../worker-flags.ts';

const execute = promisify(execFile);
const launcher = resolve(import.meta.dirname, '../../scripts/launch.mjs');

/** The folders and programs of a benchmark. */
export interface World {
  folder: string;
  /** Creates a worker that has never run, with its own database and folders. */
  makeWorker(env?: Record<string, string>): Promise<BenchWorker>;
  /** Runs a shell script with arguments. Returns its duration in milliseconds. */
  shell(script: string, ...args: string[]): Promise<number>;
}

/** A worker whose commands are processes. */
export interface BenchWorker {
  archives: string;
  /** Runs a command. Throws if it fails. */
  run(...args: string[]): Promise<{ ms: number; writtenBytes: number; output: string }>;
  remove(): Promise<void>;
}

/** Runs work in a world with a real Postgres, and removes it afterwards. */
export async function withWorld(measure: (world: World) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-worker-'));
  const postgres = await startPostgres();
  const migrated = 'migrated';
  const onServer = async (statement: string) => {
    const client = await connect(postgres.url);
    await client.query(statement).finally(() => client.end());
  };
  // Shields the measured programs from this machine's configuration.
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  const run = (command: string, args: string[], more: Record<string, string> = {}) =>
    execute(command, args, { cwd: folder, env: { ...env, ...more }, maxBuffer: 2 ** 28 });
  let made = 0;
  try {
    await onServer(`CREATE DATABASE ${migrated}`);
    const log = createLog('error', systemClock);
    const db = await openDatabase({ url: databaseUrl(postgres.url, migrated), fetch, log });
    await migrate(db, 'drizzle').finally(() => db.close());
    await measure({
      folder,
      async shell(text, ...args) {
        const start = performance.now();
        await run('sh', ['-ec', text, 'sh', ...args]);
        return performance.now() - start;
      },
      async makeWorker(variables = {}) {
        const name = `worker_${++made}`;
        await onServer(`CREATE DATABASE ${name} TEMPLATE ${migrated}`);
        const own = join(folder, name);
        await mkdir(own);
        const archives = join(own, 'archives');
        const settings = {
          // Only the run is measured.
          DRILL_BUDGET_MINUTES: '0',
          ...variables,
          DATABASE_URL: databaseUrl(postgres.url, name),
          BACKUP_ARCHIVE_PATH: archives,
          DATA_DIR: join(own, 'data'),
        };
        return {
          archives,
          async run(...args) {
            // The kernel adds a process's written bytes to its parent's figures once the parent waits for it.
            const counted = '"$@"; code=$?; cat "/proc/$$/io"; exit $code';
            const start = performance.now();
            const { stdout } = await run(
              'sh',
              ['-c', counted, 'sh', process.execPath, ...WORKER_FLAGS, launcher, 'worker', ...args],
              settings,
            );
            const ms = performance.now() - start;
            const [, written] = /^write_bytes: (\d+)$/m.exec(stdout) ?? [];
            return { ms, writtenBytes: Number(written), output: stdout };
          },
          remove: () => rm(own, { recursive: true, force: true }),
        };
      },
    });
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
