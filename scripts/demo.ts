import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { execa } from 'execa';
import { systemClock } from '../lib/clock.ts';
import { databaseVariables } from '../lib/config/database.ts';
import { makeLocalSecrets } from '../lib/config/local/local-secrets.ts';
import { type Environment, readConfig } from '../lib/config/read.ts';
import { urlOfOpenDatabase } from '../lib/database/embedded/address.ts';
import { openDatabase } from '../lib/database/open.ts';
import { runProgram } from './command.ts';
import { createCommandLog } from './database.ts';
import { DROPPED_DAYS_AGO, insertDemoHistory, moveIntoPast } from './demo/history.ts';
import {
  commitFile,
  createDemoRepositories,
  createDroppedRepository,
  isWholeRepository,
  LOST,
  rewriteHistory,
} from './demo/repositories.ts';
import { findFreePort } from './free-port.ts';
import { type LocalServer, startLocalServer } from './local-server.ts';
import { preparePage } from './page/build-page.ts';
import { describeLoginLink } from './page/login-link.ts';
import { quoted, secretFrom } from './secret-from.ts';

const PROJECT = resolve(import.meta.dirname, '..');
const WORKER = join(PROJECT, 'scripts/worker.ts');
const MINUTE_MS = 60_000;

const program = new Command('npm run demo --').description(
  'Shows 60 days of invented history in a temporary folder, and backs up small repositories once a minute, until Ctrl-C. PORT is its port.',
);

await runProgram(program, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'backup-observatory-demo-'));
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stop.abort());
  try {
    await demonstrate(folder, stop.signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return 0;
});

/** Runs the server, and changes and backs up repositories every minute until it is stopped. */
async function demonstrate(folder: string, stop: AbortSignal): Promise<void> {
  const secretsFile = join(folder, 'data/local.env');
  const { environment } = makeLocalSecrets(await demoEnvironment(folder), secretsFile);
  await preparePage();
  const server = await startLocalServer(environment);
  try {
    await mkdir(join(folder, 'off-site'));
    const repositories = await createDemoRepositories(join(folder, 'repositories'));
    const dropped = await createDroppedRepository(join(folder, 'repositories'));
    // Drills cannot be moved into the past.
    await backUp([dropped], { ...environment, DRILL_BUDGET_MINUTES: '0' }, stop);
    await fillHistory(environment);
    // It is backed up once, so that its archive is kept when its source is gone.
    const lost = join(folder, 'repositories', LOST);
    await backUp([lost], environment, stop);
    await rm(lost, { recursive: true });
    const sources = [...repositories];
    if (await isWholeRepository(PROJECT)) sources.push(PROJECT);
    else
      process.stderr.write(
        'this project is not a complete git repository here, so it is not backed up\n',
      );
    await backUp(sources, environment, stop);
    await rewriteHistory(join(folder, 'repositories'));
    await backUp(sources, environment, stop);
    process.stdout.write(describe(server, join(folder, 'data'), secretsFile));
    for (let round = 1; !stop.aborted; round++) {
      await pause(stop);
      if (stop.aborted) break;
      const text = `Round ${round}\n`;
      await commitFile(join(folder, 'repositories/website'), 'news.txt', text, `News ${round}`);
      await backUp(sources, environment, stop);
    }
  } finally {
    await server.close();
  }
}

/** An environment that shares nothing with a running server, not even the port. */
async function demoEnvironment(folder: string): Promise<Environment> {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATA_DIR: join(folder, 'data'),
    PORT: process.env.PORT || String(await findFreePort(8080)),
    BACKUP_EVERY: '1m',
    BACKUP_STORES: `file://${join(folder, 'off-site')}`,
  };
}

/** Moves what was backed up into the past, and inserts 60 days of history. */
async function fillHistory(environment: Environment): Promise<void> {
  const url = await urlOfOpenDatabase(readConfig(databaseVariables, environment).DATA_DIR);
  if (url === null) throw new Error("the demo's own server has no database");
  const db = await openDatabase({ url, fetch, log: createCommandLog(environment) });
  try {
    await moveIntoPast(db, DROPPED_DAYS_AGO);
    await insertDemoHistory(db, systemClock.now());
  } finally {
    await db.close();
  }
}

/** Runs `npm run worker -- run`. A failed run is shown like any other. */
async function backUp(sources: string[], env: Environment, stop: AbortSignal): Promise<void> {
  await execa(
    process.execPath,
    [WORKER, 'run', ...sources.flatMap((source) => ['--source', source])],
    { env, extendEnv: false, stdio: 'inherit', cancelSignal: stop, reject: false },
  );
}

async function pause(stop: AbortSignal): Promise<void> {
  try {
    await systemClock.sleep(MINUTE_MS, stop);
  } catch (error) {
    if (!stop.aborted) throw error;
  }
}

function describe(server: LocalServer, dataDir: string, secretsFile: string): string {
  const { url } = server;
  const ask = (path: string) =>
    `curl -s -H "Authorization: Bearer ${secretFrom(secretsFile)}" '${url}${path}'`;
  return `
The demo is running. Ctrl-C stops it and deletes everything.
Every minute, a repository changes and a run starts.
${describeLoginLink(server)}
  Page       ${url}/app/
  API        ${url}/api
  Documents  ${url}/docs
  Database   psql -h ${quoted(dataDir)} -U postgres

Read the latest run, the repositories and the log:

  ${ask('/api/backups/latest')}
  ${ask('/api/repos')}
  ${ask('/api/logs?level=info')}

`;
}
