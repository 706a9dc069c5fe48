import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createPostgres, type TestDatabase } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { createRepository, type TestRepository } from '../../support/git.ts';
import { processesOf } from '../../support/processes.ts';
import type { ScriptOptions } from '../../support/script.ts';
import { createLedger, type Ledger } from './ledger.ts';

/** A repository that a worker backs up, and what it must be able to restore. */
export interface World {
  folder: string;
  database: TestDatabase;
  source: TestRepository;
  ledger: Ledger;
  /** The folder with the archives and DATA_DIR. */
  data: string;
  /** The options for a run of the worker. */
  run: ScriptOptions & { args: string[]; env: Record<string, string> };
  close(): Promise<void>;
}

/** How a worker keeps its archives. */
export interface Keeping {
  /** The archive size in MiB from which it gets increments. */
  incrementsFrom: '0' | '64';
  /** BACKUP_KEEP. */
  keep: string;
}

/** Makes a world. Archives and DATA_DIR are in `data`, or beside the source. */
export async function createWorld(
  { incrementsFrom, keep }: Keeping,
  data?: string,
): Promise<World> {
  const [database, folder] = [await createPostgres(), await temporaryFolder()];
  const source = await createRepository(join(folder.path, 'app'));
  const root = data ?? join(folder.path, 'worker');
  const archives = join(root, 'archives');
  return {
    folder: folder.path,
    database,
    source,
    ledger: createLedger(archives, source, join(folder.path, 'restored')),
    data: root,
    run: {
      args: ['run', '--source', source.path],
      env: {
        DATABASE_URL: database.url,
        BACKUP_ARCHIVE_PATH: archives,
        DRILL_BUDGET_MINUTES: '0',
        DATA_DIR: join(root, 'data'),
        BACKUP_INCREMENTS_FROM_MIB: incrementsFrom,
        BACKUP_KEEP: keep,
      },
      cwd: folder.path,
    },
    async close() {
      await database.close();
      await folder.remove();
    },
  };
}

/** Resolves when no process of the world is left. Throws after 20 seconds. */
export async function untilQuiet({ folder }: World): Promise<void> {
  for (let look = 0; look < 400; look++) {
    if ((await processesOf(folder)).length === 0) return;
    await delay(50);
  }
  const left = (await processesOf(folder)).map(({ command }) => command);
  throw new Error(`these processes are still running: ${left.join('; ')}`);
}
