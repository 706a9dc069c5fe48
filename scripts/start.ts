import { once } from 'node:events';
import { relative } from 'node:path';
import {
  archivePath,
  databaseVariables,
  type Environment,
  httpVariables,
  readConfig,
  workerVariables,
} from '../lib/platform/config.ts';
import { loadEnvironment } from '../lib/platform/environment.ts';
import { makeLocalSecrets } from '../lib/platform/local-secrets.ts';
import { version } from '../lib/platform/version.ts';
import { runCommand } from './command.ts';
import { type LocalServer, startLocalServer } from './local-server.ts';

await runCommand(async () => {
  const loaded = loadEnvironment(process.env, process.cwd());
  const { environment, made } = loaded.hasEnvFile
    ? { environment: loaded.environment, made: [] }
    : makeLocalSecrets(loaded.environment, loaded.localEnvFile);
  // From the beginning: a signal while it starts stops it in order too.
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const server = await startLocalServer(environment);
  const secretsFile = loaded.hasEnvFile ? '.env' : here(loaded.localEnvFile);
  process.stdout.write(describe(server, { environment, made, secretsFile }));
  await stopped;
  await server.close();
  return 0;
});

interface Start {
  environment: Environment;
  /** Names of the secrets that this start made up. */
  made: string[];
  secretsFile: string;
}

function describe(
  { url, embeddedUrl }: LocalServer,
  { environment, made, secretsFile }: Start,
): string {
  const config = readConfig(databaseVariables, environment);
  const archives = here(archivePath({ ...config, ...readConfig(workerVariables, environment) }));
  const database = config.DATABASE_URL
    ? 'the Postgres of DATABASE_URL'
    : `embedded, in ${here(config.DATA_DIR)}${embeddedUrl ? ` and at ${embeddedUrl}` : ''}`;
  const secrets = made.length > 0 ? `${secretsFile}, made now: ${made.join(', ')}` : secretsFile;
  return `
Backup Observatory ${version} is running. Ctrl-C stops it.

  API        ${url}/api
  Documents  ${url}/docs
  Database   ${database}
  Archives   ${archives}
  Secrets    ${secrets}

Ask it something:

  curl ${authorization(environment, secretsFile)}${url}/api/dashboard/stats

Back a repository up, in another terminal:

  npm run worker -- run --source .

`;
}

/** The header of a request that can be pasted as it is and still shows no secret. */
function authorization(environment: Environment, secretsFile: string): string {
  if (!readConfig(httpVariables, environment).API_REQUIRE_AUTH) return '';
  const secret = process.env.INTERNAL_SECRET
    ? '$INTERNAL_SECRET'
    : `$(sed -n 's/^INTERNAL_SECRET=//p' ${secretsFile})`;
  return `-s -H "Authorization: Bearer ${secret}" `;
}

/** A path as it is seen from the folder that the person is in. */
function here(path: string): string {
  const seen = relative(process.cwd(), path);
  return seen === '' ? '.' : seen.startsWith('..') ? path : seen;
}
