import { systemClock } from '../lib/platform/clock.ts';
import { databaseVariables } from '../lib/platform/config/database.ts';
import { logVariables } from '../lib/platform/config/log.ts';
import { readConfig } from '../lib/platform/config/read.ts';
import { configuredSecrets } from '../lib/platform/config/secrets.ts';
import { AppError } from '../lib/platform/errors.ts';
import { createLog } from '../lib/platform/log.ts';
import { hashPassword, PASSWORD_MIN_LENGTH } from '../lib/platform/password.ts';
import { createRedactor } from '../lib/platform/redaction.ts';
import { addUser, changePassword, listUsers, removeUser } from '../lib/records/users.ts';
import { runCommand } from './command.ts';
import { openConfiguredDatabase } from './database.ts';
import { loadEnvironment } from './environment.ts';
import { readHiddenLine } from './hidden-line.ts';

const usage = `Users of the observatory.

  npm run users -- add NAME        asks for a password (on a terminal), or reads one line from stdin
  npm run users -- list            prints a line for each user
  npm run users -- password NAME   asks for another password, and ends the user's tokens
  npm run users -- remove NAME     also removes the user's gateway key, conversations and reports

A password has at least ${PASSWORD_MIN_LENGTH} characters. The user of AUTH_USERNAME is not listed here.`;

await runCommand(async () => {
  const [action, name, ...rest] = process.argv.slice(2);
  if (action === '--help' || action === '-h') return print(usage);
  if (action === 'list' && name === undefined) return withDatabase(printUsers);
  if (action === 'add' && isName(name) && rest.length === 0) {
    const passwordHash = await hashPassword(await readPassword());
    return withDatabase(async (db) => {
      await addUser(db, name, passwordHash);
      return print(`added ${name}`);
    });
  }
  if (action === 'password' && isName(name) && rest.length === 0) {
    const passwordHash = await hashPassword(await readPassword());
    return withDatabase(async (db) => {
      await changePassword(db, name, passwordHash);
      return print(`changed the password of ${name}`);
    });
  }
  if (action === 'remove' && isName(name) && rest.length === 0) {
    return withDatabase(async (db) => {
      await removeUser(db, name);
      return print(`removed ${name}`);
    });
  }
  // Not repeated: somebody may have typed a password there.
  throw new AppError('BAD_REQUEST', `the arguments are not understood\n\n${usage}`);
});

function isName(name: string | undefined): name is string {
  if (name === undefined) return false;
  if (/^[\p{L}\p{N}._@+-]{1,64}$/u.test(name) && !name.startsWith('-')) return true;
  throw new AppError('BAD_REQUEST', 'a user name has 1 to 64 letters, digits or one of . _ @ + -');
}

async function readPassword(): Promise<string> {
  const given = await readHiddenLine('Password');
  if (given.length >= PASSWORD_MIN_LENGTH) return given;
  throw new AppError('BAD_REQUEST', `a password has at least ${PASSWORD_MIN_LENGTH} characters`);
}

async function withDatabase(
  act: (db: Awaited<ReturnType<typeof openConfiguredDatabase>>) => Promise<number>,
): Promise<number> {
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
    return await act(db);
  } finally {
    await db.close();
  }
}

async function printUsers(db: Parameters<typeof listUsers>[0]): Promise<number> {
  for (const { username, created_at } of await listUsers(db)) print(`${username}\t${created_at}`);
  return 0;
}

function print(line: string): number {
  process.stdout.write(`${line}\n`);
  return 0;
}
