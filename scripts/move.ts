import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { wrongUsage } from '../lib/command-line.ts';
import { type DatabaseConfig, databaseVariables } from '../lib/config/database.ts';
import { readConfig } from '../lib/config/read.ts';
import type { Database } from '../lib/database/database.ts';
import { migrate } from '../lib/database/migrate.ts';
import { openDatabase } from '../lib/database/open.ts';
import { AppError, messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log/log.ts';
import { buildMissingIndexes } from '../lib/search/missing-vector-indexes.ts';
import { createDisplay } from '../lib/worker/base/display.ts';
import { createKeychain } from '../lib/worker/base/keychain.ts';
import { runProgram } from './command.ts';
import { createCommandLog } from './database.ts';
import { loadEnvironment } from './environment.ts';
import { readHiddenLine } from './hidden-line.ts';
import { type MovedRows, moveDatabase } from './move/move-database.ts';

const MIGRATIONS = resolve(import.meta.dirname, '../drizzle');

const words = new Intl.ListFormat('en-GB');

interface MoveOptions {
  startOver: boolean;
  toFolder?: string;
  fromFolder?: string;
  withMirrors: boolean;
  withKeychain: boolean;
  withIdentity?: string;
}

const program = new Command('npm run move --')
  .description(
    `Copies everything from the configured database to another one, which must be empty, and compares both.
The source is the database of DATABASE_URL, else the embedded one in DATA_DIR; missing\nmigrations are applied to it, and it is otherwise only read. Stop the server and every worker first. The postgres:// URL\nof the target is read from a prompt on a terminal, else from the first line of stdin. An interrupted move\ncontinues when it is started again.`,
  )
  .option(
    '--start-over',
    'delete what an interrupted move has copied to the target, and start over',
    false,
  )
  .addOption(
    new Option(
      '--to-folder <folder>',
      'instead, pack this installation into a new folder, for another machine: DATA_DIR with its database, archives, .env and logins',
    ).conflicts(['fromFolder', 'startOver']),
  )
  .addOption(
    new Option(
      '--from-folder <folder>',
      'instead, unpack such a folder here; nothing is overwritten, and every file is checked',
    ).conflicts('startOver'),
  )
  .option(
    '--with-mirrors',
    'with --to-folder: also the mirrors, which a run can fetch again',
    false,
  )
  .option(
    '--with-keychain',
    'with --to-folder: also the logins in the keychain, unencrypted',
    false,
  )
  .option('--with-identity <file>', 'with --to-folder: also this file of age identities')
  .showHelpAfterError();

await runProgram(program, async () => {
  const environment = loadEnvironment();
  const { toFolder, fromFolder, ...options } = program.opts<MoveOptions>();
  const start = process.cwd();
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  if (toFolder !== undefined) {
    const { packInstallation } = await import('./move/pack.ts');
    await packInstallation({
      ...{ environment, start, say, to: resolve(toFolder) },
      withMirrors: options.withMirrors,
      withKeychain: options.withKeychain,
      identityFile: options.withIdentity ?? null,
      keychain: createKeychain(environment, systemClock),
    });
    return 0;
  }
  if (options.withMirrors || options.withKeychain || options.withIdentity !== undefined) {
    throw wrongUsage('--with-… needs --to-folder');
  }
  if (fromFolder !== undefined) {
    const { unpackInstallation } = await import('./move/unpack.ts');
    await unpackInstallation({ environment, start, say, from: resolve(fromFolder) });
    return 0;
  }
  const config = readConfig(databaseVariables, environment);
  const url = await readTarget();
  const log = createCommandLog(environment, { DATABASE_URL: url });
  const source = await openSource(config, log);
  const target = await openDatabase({ url, fetch, log, maxConnections: 2 });
  try {
    await prepare(source, 'the source');
    await prepare(target, 'the target');
    process.stderr.write(`moving ${describeSource(config)} to ${describeTarget(url)}\n`);
    const moved = await move(source, target, options.startOver);
    process.stdout.write(describeMoved(moved));
    await indexVectors(target);
    return 0;
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
});

async function readTarget(): Promise<string> {
  const given = (await readHiddenLine('URL of the target (postgres://…)')).trim();
  const { success } = databaseVariables.shape.DATABASE_URL.safeParse(given || null);
  if (success) return given;
  throw new AppError('BAD_REQUEST', 'the target must be a postgres:// URL');
}

/** Opens the database directly, and not through a running server, which could write during the move. */
async function openSource(config: DatabaseConfig, log: Log): Promise<Database> {
  const { DATABASE_URL: url, DATA_DIR: dataDir } = config;
  if (url !== undefined) return openDatabase({ url, fetch, log, maxConnections: 2 });
  if (!existsSync(join(dataDir, 'postgres/PG_VERSION'))) {
    throw new AppError('NOT_FOUND', `there is no embedded database in ${relative('.', dataDir)}`);
  }
  const { openEmbeddedDatabase } = await import('../lib/database/embedded/open.ts');
  return openEmbeddedDatabase({ dataDir, listen: null, log, clock: systemClock });
}

async function prepare(db: Database, name: string): Promise<void> {
  try {
    await migrate(db, MIGRATIONS);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, `${name}: ${error.message}`, { cause: error.cause });
  }
}

async function move(source: Database, target: Database, startOver: boolean): Promise<MovedRows[]> {
  const display = createDisplay(process.stderr, process.stderr.isTTY ?? false);
  try {
    return await moveDatabase({
      source,
      target,
      startOver,
      report: { note: display.line, copied: display.progress },
    });
  } finally {
    display.clear();
  }
}

/** Without an index, searches are slower but correct. */
async function indexVectors(target: Database): Promise<void> {
  try {
    const built = await buildMissingIndexes(target);
    if (built > 0) process.stderr.write('built the vector index\n');
  } catch (error) {
    process.stderr.write(`could not build the vector index: ${messageOf(error)}\n`);
  }
}

function describeSource({ DATABASE_URL, DATA_DIR }: DatabaseConfig): string {
  if (DATABASE_URL !== undefined) return 'the database of DATABASE_URL';
  return `the embedded database in ${relative('.', DATA_DIR)}`;
}

function describeTarget(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

function describeMoved(moved: readonly MovedRows[]): string {
  const width = Math.max(...moved.map(({ table }) => table.length));
  const digits = Math.max(...moved.map(({ rows }) => rows.toLocaleString('en').length), 4);
  const line = (name: string, value: string) => `${name.padEnd(width)}  ${value.padStart(digits)}`;
  const holds = (name: string) => moved.some(({ table, rows }) => table === name && rows > 0);
  const sealed = [
    ...(holds('gateway_connections') ? ["users' gateway keys"] : []),
    ...(holds('alert_channels') ? ['the addresses of alert channels'] : []),
    ...(holds('signing_keys') ? ['private signing keys'] : []),
  ];
  return `${[
    line('table', 'rows'),
    ...moved.map(({ table, rows }) => line(table, rows.toLocaleString('en'))),
    'Both databases are identical. From now on, set DATABASE_URL to the target.',
    ...(sealed.length > 0
      ? [`Keep CREDENTIALS_ENCRYPTION_KEY: ${words.format(sealed)} are encrypted with it.`]
      : []),
  ].join('\n')}\n`;
}
