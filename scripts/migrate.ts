import { relative, resolve } from 'node:path';
import { Command } from 'commander';
import type { DatabaseConfig } from '../lib/config/database.ts';
import type { Database } from '../lib/database/database.ts';
import { migrate } from '../lib/database/migrate.ts';
import { explainMissingVectors } from '../lib/search/vector-storage.ts';
import { runProgram } from './command.ts';
import { withDatabase } from './database.ts';

const program = new Command('npm run migrate')
  .description(
    `Applies the migrations that the database lacks: the one of DATABASE_URL, else the embedded one of a
running server, else the embedded one in DATA_DIR. It may run twice, and beside other processes.`,
  )
  .showHelpAfterError();

await runProgram(program, () =>
  withDatabase(async (db, config) => {
    const applied = await migrate(db, resolve(import.meta.dirname, '../drizzle'));
    const done =
      applied === 0
        ? 'has every migration already'
        : `was given ${applied} ${applied === 1 ? 'migration' : 'migrations'}`;
    process.stdout.write(`${describe(db, config)} ${done}\n`);
    const reason = await explainMissingVectors(db);
    if (reason !== null) process.stderr.write(`search runs on full text alone: ${reason}\n`);
    return 0;
  }),
);

function describe(db: Database, config: DatabaseConfig): string {
  if (config.DATABASE_URL !== undefined) return 'the database of DATABASE_URL';
  if (db.driver === 'embedded') return `the embedded database in ${relative('.', config.DATA_DIR)}`;
  return 'the embedded database of the running server';
}
