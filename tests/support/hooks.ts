import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createPostgres, type TestDatabase } from './databases.ts';
import { emptyLedger } from './drills.ts';
import { createHostedWorker, type HostedWorker } from './hosted-worker.ts';
import { createLoginBench, type LoginBench } from './logins.ts';

/** One database for all tests of a file. */
export function useDatabase(): TestDatabase {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createPostgres();
  });
  afterAll(() => database.close());
  return latest(() => database);
}

/** A git host and a worker for each test, with no run recorded in the file's database. */
export function useHostedWorker(database: TestDatabase): HostedWorker {
  let worker: HostedWorker;
  beforeEach(async () => {
    worker = await createHostedWorker();
    await database.db.query({
      text: 'TRUNCATE backup_runs, worker_repo_state, archive_versions, archive_refs, archive_stores, anomalies, coverage, incidents, host_logins, archive_disks, badges, forgotten_repositories, run_jobs, run_members, restore_drill_claims CASCADE',
    });
    await emptyLedger(database.db);
  });
  afterEach(() => worker.close());
  return latest(() => worker);
}

/** A host, a configuration folder and a keychain for each test. */
export function useLoginBench(env?: Record<string, string>): LoginBench {
  let bench: LoginBench;
  beforeEach(async () => {
    bench = await createLoginBench(env);
  });
  afterEach(() => bench.remove());
  return latest(() => bench);
}

/** Stands for the object of the test that runs, so that a file can name it before it exists. */
export function latest<Value extends object>(read: () => Value): Value {
  return new Proxy({} as Value, {
    get: (_, key) => Reflect.get(read(), key),
    set: (_, key, value) => Reflect.set(read(), key, value),
    has: (_, key) => Reflect.has(read(), key),
    ownKeys: () => Reflect.ownKeys(read()),
    getOwnPropertyDescriptor: (_, key) => {
      const found = Reflect.getOwnPropertyDescriptor(read(), key);
      return found && { ...found, configurable: true };
    },
  });
}
