import { Command } from 'commander';
import { wrongUsage } from '../lib/command-line.ts';
import { MIN_PASSWORD_LENGTH } from '../lib/config/values.ts';
import type { Database } from '../lib/database/database.ts';
import { hashPassword } from '../lib/security/password.ts';
import {
  addUser,
  changePassword,
  listUsers,
  removeUser,
  setAdmin,
  USERNAME,
} from '../lib/users/users.ts';
import { runProgram } from './command.ts';
import { withDatabase } from './database.ts';
import { readHiddenLine } from './hidden-line.ts';

type Run = () => Promise<number>;
let run: Run = () => Promise.resolve(0);

const program = new Command('npm run users --')
  .description('Manages the users of the observatory.')
  .addHelpText(
    'after',
    `
An administrator may also change how backups are made, and what is told to whom. Passwords are read from a prompt on a terminal, else from the first line of stdin, and have at least
${MIN_PASSWORD_LENGTH} characters. The user of AUTH_USERNAME is not listed here.`,
  )
  .showHelpAfterError();

program
  .command('list')
  .description('lists the users, one per line')
  .action(() => {
    run = () => withDatabase(printUsers);
  });
onUser('add', 'adds a user', async (name, { admin: isAdmin = false }) => {
  const passwordHash = await hashPassword(await readPassword());
  await withDatabase((db) => addUser(db, name, passwordHash, { isAdmin }));
  return print(isAdmin ? `added ${name}, an administrator` : `added ${name}`);
}).option('--admin', 'may also change how backups are made, and what is told to whom');
onUser('admin', 'makes a user an administrator', async (name, { revoke = false }) => {
  await withDatabase((db) => setAdmin(db, name, !revoke));
  return print(`${name} is ${revoke ? 'no longer' : 'now'} an administrator`);
}).option('--revoke', 'take it away instead');
onUser('password', "changes a user's password and revokes their tokens", async (name) => {
  const passwordHash = await hashPassword(await readPassword());
  await withDatabase((db) => changePassword(db, name, passwordHash));
  return print(`changed the password of ${name}`);
});
onUser(
  'remove',
  'removes a user with their gateway key, conversations and reports',
  async (name) => {
    await withDatabase((db) => removeUser(db, name));
    return print(`removed ${name}`);
  },
);

await runProgram(program, () => run());

interface Options {
  admin?: boolean;
  revoke?: boolean;
}

function onUser(
  action: string,
  description: string,
  act: (name: string, options: Options) => Promise<number>,
): Command {
  return program
    .command(action)
    .description(description)
    .argument('<name>', 'name of the user', parseName)
    .action((name: string, options: Options) => {
      run = () => act(name, options);
    });
}

function parseName(name: string): string {
  if (USERNAME.test(name)) return name;
  throw wrongUsage('a user name must have 1 to 64 letters, digits or . _ @ + -');
}

async function readPassword(): Promise<string> {
  const given = await readHiddenLine('Password');
  if (given.length >= MIN_PASSWORD_LENGTH) return given;
  throw wrongUsage(`a password must have at least ${MIN_PASSWORD_LENGTH} characters`);
}

async function printUsers(db: Database): Promise<number> {
  const users = await listUsers(db);
  // Not on stdout, where a program would read it as a user.
  if (users.length === 0) process.stderr.write('no users yet: `npm run users -- add NAME`\n');
  for (const { username, created_at, is_admin } of users)
    print(`${username}\t${created_at}${is_admin ? '\tadministrator' : ''}`);
  return 0;
}

function print(line: string): number {
  process.stdout.write(`${line}\n`);
  return 0;
}
