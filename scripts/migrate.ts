import { relative, resolve } from 'node:path';
import { Command } from 'commander';
import type { DatabaseConfig } from '../lib/config/database.ts';
import type { Database } from '../lib/database/database.ts';
import { migrate } from '../lib/database/migrate.ts';
import { explainMissingVectors } from '../lib/search/vector-storage.ts';
import { counted } from '../lib/text/units.ts';
import { runProgram } from './command.ts';
import { withDatabase } from './database.ts';

const program = new Command('npm run migrate')
  .description(
    `Applies missing migrations to the database: DATABASE_URL, else the embedded database of a running server,\nelse the one in DATA_DIR. Safe to run again, and while other processes use the database.`,
  )
  .showHelpAfterError();

await runProgram(program, () =>
  withDatabase(async (db, config) => {
    const applied = await migrate(db, resolve(import.meta.dirname, '../drizzle'));
    const done = applied === 0 ? 'is up to date' : `received ${counted(applied, 'migration')}`;
    process.stdout.write(`${describe(db, config)} ${done}\n`);
    const reason = await explainMissingVectors(db);
    if (reason !== null) process.stderr.write(`search uses only full text: ${reason}\n`);
    return 0;
  }),
);

function describe(db: Database, config: DatabaseConfig): string {
  if (config.DATABASE_URL !== undefined) return 'the database of DATABASE_URL';
  if (db.driver === 'embedded') return `the embedded database in ${relative('.', config.DATA_DIR)}`;
  return 'the embedded database of the running server';
}
