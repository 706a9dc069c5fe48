import { type LocalConfig, localVariables } from '../../lib/config/local/local.ts';
import { type Environment, readConfig } from '../../lib/config/read.ts';
import { configuredSecrets } from '../../lib/config/secrets.ts';
import type { Database } from '../../lib/database/database.ts';
import { missingDatabase } from '../../lib/database/open.ts';
import { buildDeps, type Deps } from '../../lib/http/deps.ts';
import { createLog } from '../../lib/log/log.ts';
import { openRedis } from '../../lib/rate-limits/redis.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { createTestClock, type TestClock } from './clock.ts';

/** The internal secret of tests, and the headers that carry it. */
export const TEST_SECRET = 'a-secret-of-tests-with-40-characters-000';
export const withSecret = { 'X-Internal-Secret': TEST_SECRET };

/** One written log record. */
export interface LogRecord {
  level: string;
  message: string;
  [field: string]: unknown;
}

export interface TestDeps<Config = LocalConfig> extends Deps<Config> {
  clock: TestClock;
  /** Everything logged so far, at every level. */
  logged: LogRecord[];
  /** Resolves when all work that was handed to `waitUntil` so far has settled. */
  settled(): Promise<void>;
}

export interface TestDepsOptions {
  /** Variables that override the test defaults: only INTERNAL_SECRET is set. */
  environment?: Environment;
  /** Default: a database that is unreachable. */
  db?: Database;
  clock?: TestClock;
}

/** The dependencies of a surface as they ship, with a clock that stands still and a log that is recorded. */
export function createTestDeps(options: TestDepsOptions = {}): TestDeps {
  const clock = options.clock ?? createTestClock();
  const logged: LogRecord[] = [];
  const environment = {
    INTERNAL_SECRET: TEST_SECRET,
    // What a search finds must not depend on how busy the machine is.
    SEARCH_TIME_BUDGET_SECONDS: '60',
    ...options.environment,
  };
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog('debug', clock, (line) => logged.push(JSON.parse(line)), redactor);
  const work: Promise<unknown>[] = [];
  const config = readConfig(localVariables, environment);
  const deps = buildDeps({
    config,
    db: options.db ?? missingDatabase(log),
    redis: openRedis(config),
    log,
    redactor,
    clock,
    fetch,
    waitUntil: (promise) => work.push(promise),
  });
  logged.length = 0;
  return {
    ...deps,
    clock,
    logged,
    async settled() {
      await Promise.all(work);
    },
  };
}
