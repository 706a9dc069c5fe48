import { relative } from 'node:path';
import { archivePath, archiveVariables } from '../lib/config/archives.ts';
import { databaseVariables } from '../lib/config/database.ts';
import { loadEnvironment } from '../lib/config/environment.ts';
import { httpVariables } from '../lib/config/http.ts';
import { makeLocalSecrets } from '../lib/config/local-secrets.ts';
import { type Environment, readConfig } from '../lib/config/read.ts';
import { checkGit } from '../lib/git/git-version.ts';
import { CODE_MINUTES } from '../lib/users/login-codes.ts';
import { version } from '../lib/version.ts';
import { runCommand } from './command.ts';
import { type EmbeddedPlaces, type LocalServer, startLocalServer } from './local-server.ts';
import { buildPageWhenStale } from './page/build-page.ts';
import { quoted, secretFrom } from './secret-from.ts';

await runCommand(async () => {
  const loaded = loadEnvironment(process.env, process.cwd());
  const { environment, made } = loaded.hasEnvFile
    ? { environment: loaded.environment, made: [] }
    : makeLocalSecrets(loaded.environment, loaded.localEnvFile);
  await buildPageOrSay();
  await checkGit(environment, new AbortController().signal);
  const stopped = nextSignal();
  const server = await startLocalServer(environment);
  const secretFile = loaded.fileOf('INTERNAL_SECRET');
  const isOurs = loaded.fileOf('EMBEDDED_DB_PASSWORD') === loaded.localEnvFile;
  process.stdout.write(describe(server, { environment, made, secretFile, isOurs }));
  await stopped;
  await server.close();
  return 0;
});

/** The server works without its page, for whoever has installed no more than that needs. */
async function buildPageOrSay(): Promise<void> {
  try {
    await buildPageWhenStale((text) => process.stdout.write(text));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(`The page cannot be built, so there is none: ${why}\n`);
  }
}

interface Start {
  environment: Environment;
  /** Names of the secrets that this start made up. */
  made: string[];
  /** The file that INTERNAL_SECRET is in; null when it is in the environment. */
  secretFile: string | null;
  /** Did `npm start` make the password of the embedded database? */
  isOurs: boolean;
}

/**
 * Resolves at the first SIGINT, SIGTERM or SIGHUP, also while the server starts. Later ones change nothing: npm
 * passes a Ctrl-C on that the terminal has sent already, and the end has a limit of its own.
 */
function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => resolve());
  });
}

function describe(server: LocalServer, { environment, made, secretFile, isOurs }: Start): string {
  const { url, embedded } = server;
  const config = readConfig(databaseVariables, environment);
  const archives = here(archivePath({ ...config, ...readConfig(archiveVariables, environment) }));
  const database = embedded ? describeEmbedded(embedded, isOurs) : 'the Postgres of DATABASE_URL';
  const place = secretFile === null ? 'the environment' : here(secretFile);
  const secrets = made.length > 0 ? `${place}, made now: ${made.join(', ')}` : place;
  return `
Backup Observatory ${version} is running. Ctrl-C stops it.
${describeLogin(server)}
  Page         ${url}/app/
  API          ${url}/api
  Documents    ${url}/docs
  Observatory  ${url}/observatory
  MCP          ${url}/mcp
  Database     ${database}
  Archives     ${archives}
  Secrets      ${secrets}

Ask it something:

  curl ${authorization(environment, secretFile)}${url}/api/dashboard/stats

Back a repository up, in another terminal:

  npm run worker -- run --source .

`;
}

/** Where to click. Without a user of the environment there is only the login with a password. */
function describeLogin(server: LocalServer): string {
  const link = server.issueLoginLink();
  if (link === null) return '';
  return `\nOpen this link in a browser. It logs you in, once and within ${CODE_MINUTES} minutes:\n\n  ${link}\n`;
}

/** How other programs reach the embedded database. A password that a person chose is not shown. */
function describeEmbedded({ folder, portUrl }: EmbeddedPlaces, isOurs: boolean): string {
  const socket = process.platform === 'win32' ? '' : `: psql -h ${quoted(folder)} -U postgres`;
  const shown = isOurs ? portUrl : portUrl?.replace(/:[^:@/]*@/, ':$EMBEDDED_DB_PASSWORD@');
  return `embedded, in ${here(folder)}${socket}${shown ? `\n               and at ${shown}` : ''}`;
}

/** The options of a request that can be pasted as it is and still shows no secret. */
function authorization(environment: Environment, secretFile: string | null): string {
  if (!readConfig(httpVariables, environment).API_REQUIRE_AUTH) return '-s ';
  const secret = secretFile === null ? '$INTERNAL_SECRET' : secretFrom(here(secretFile));
  return `-s -H "Authorization: Bearer ${secret}" `;
}

/** A path as it is seen from the folder that the person is in. */
function here(path: string): string {
  const seen = relative(process.cwd(), path);
  return seen === '' ? '.' : seen.startsWith('..') ? path : seen;
}
