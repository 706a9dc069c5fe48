import { relative, resolve } from 'node:path';
import { systemClock } from '../lib/platform/clock.ts';
import { type DatabaseConfig, databaseVariables } from '../lib/platform/config/database.ts';
import { logVariables } from '../lib/platform/config/log.ts';
import { readConfig } from '../lib/platform/config/read.ts';
import { configuredSecrets } from '../lib/platform/config/secrets.ts';
import type { Database } from '../lib/platform/database/database.ts';
import { migrate } from '../lib/platform/database/migrate.ts';
import { AppError } from '../lib/platform/errors.ts';
import { createLog } from '../lib/platform/log.ts';
import { createRedactor } from '../lib/platform/redaction.ts';
import { explainMissingVectors } from '../lib/search/vector-storage.ts';
import { runCommand } from './command.ts';
import { openConfiguredDatabase } from './database.ts';
import { loadEnvironment } from './environment.ts';

const usage = `usage: npm run migrate

Applies the migrations that the database lacks: the one of DATABASE_URL, else the embedded one of a
running server, else the embedded one in DATA_DIR. It may run twice, and beside other processes.
`;

await runCommand(async () => {
  const [option] = process.argv.slice(2);
  if (option === '--help' || option === '-h') {
    process.stdout.write(usage);
    return 0;
  }
  if (option !== undefined) {
    throw new AppError('BAD_REQUEST', `unexpected argument ${option}\n\n${usage.trimEnd()}`);
  }

  const environment = loadEnvironment();
  const config = readConfig(databaseVariables, environment);
  const log = createLog(
    readConfig(logVariables, environment).LOG_LEVEL,
    systemClock,
    undefined,
    createRedactor(configuredSecrets(environment)),
  );
  const db = await openConfiguredDatabase(config, log);
  try {
    const applied = await migrate(db, resolve(import.meta.dirname, '../drizzle'));
    const done =
      applied === 0
        ? 'has every migration already'
        : `was given ${applied} ${applied === 1 ? 'migration' : 'migrations'}`;
    process.stdout.write(`${describe(db, config)} ${done}\n`);
    const reason = await explainMissingVectors(db);
    if (reason !== null) process.stderr.write(`search runs on full text alone: ${reason}\n`);
    return 0;
  } finally {
    await db.close();
  }
});

function describe(db: Database, config: DatabaseConfig): string {
  if (config.DATABASE_URL !== undefined) return 'the database of DATABASE_URL';
  if (db.driver === 'embedded') return `the embedded database in ${relative('.', config.DATA_DIR)}`;
  return 'the embedded database of the running server';
}
