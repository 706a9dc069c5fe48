import { systemClock } from '../../../lib/clock.ts';
import { gitHostVariables } from '../../../lib/config/git-host.ts';
import { readConfig } from '../../../lib/config/read.ts';
import { AppError } from '../../../lib/errors.ts';
import { connectGitHost } from '../../../lib/worker/hosts/connection.ts';
import { openLoginStore } from '../../../lib/worker/logins/login-store.ts';
import { openTokenSource } from '../../../lib/worker/logins/token-source.ts';
import { createMemoryKeychain } from '../../support/keychain.ts';

// Requests the source token of a configuration folder, and prints the outcome.

const [folder = '', GIT_HOST_URL = ''] = process.argv.slice(2);
const config = readConfig(gitHostVariables, { GIT_HOST_URL });
const { signal } = new AbortController();
const connection = connectGitHost(config, { fetch, clock: systemClock, signal });
const store = openLoginStore({
  folder,
  keychain: createMemoryKeychain(),
  notify: (text) => process.stderr.write(`${text}\n`),
});
const source = await openTokenSource({ config, store, connection });
try {
  await source.source('project');
  process.stdout.write('a token');
} catch (error) {
  process.stdout.write(error instanceof AppError ? error.code : String(error));
}
