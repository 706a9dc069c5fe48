import { scryptSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createPostgres } from '../support/databases.ts';
import { useSharedFolder } from '../support/folders.ts';
import { useDatabase } from '../support/hooks.ts';
import { runScript, startScript } from '../support/script.ts';

const PASSWORD = 'correct horse battery';
const folder = useSharedFolder();
const database = useDatabase();

const users = (args: string[], stdin?: string) =>
  runScript('users', {
    args,
    cwd: folder,
    env: { DATABASE_URL: database.url },
    ...(stdin === undefined ? {} : { stdin }),
  });

const storedHash = async (name: string) => {
  const [row] = await database.db.query<{ hash: string }>(
    { text: 'SELECT password_hash AS hash FROM users WHERE username = $1' },
    [name],
  );
  return row?.hash;
};

describe('npm run users', () => {
  it('stores a scrypt hash of the line on stdin and prints no password', async () => {
    const { code, stdout, stderr } = await users(['add', 'ada'], `${PASSWORD}\nmore\n`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'added ada\n' });
    expect(stdout + stderr).not.toContain(PASSWORD);

    const [, N, r, p, salt = '', key] = (await storedHash('ada'))?.split('$') ?? [];
    const cost = { N: Number(N), r: Number(r), p: Number(p), maxmem: 2 ** 28 };
    const derived = scryptSync(PASSWORD, Buffer.from(salt, 'base64'), 32, cost);
    expect(derived.toString('base64')).toBe(key);
  });

  it('rejects a name that is taken and keeps the stored password', async () => {
    await users(['add', 'grace'], `${PASSWORD}\n`);
    const before = await storedHash('grace');
    const { code, stderr } = await users(['add', 'grace'], 'another password\n');
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'user grace already exists\n' });
    expect(await storedHash('grace')).toBe(before);
  });

  it('rejects a password below 12 characters', async () => {
    const { code, stderr } = await users(['add', 'short'], 'eleven char\n');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'a password must have at least 12 characters\n',
    });
    expect(await storedHash('short')).toBeUndefined();
  });

  it('lists users by name, without hashes', async () => {
    const { stdout } = await users(['list']);
    expect(stdout).toMatch(/^ada\t\S+Z\ngrace\t\S+Z\n$/);
  });

  it('adds an administrator, makes one, and takes that away', async () => {
    const added = await users(['add', 'margaret', '--admin'], `${PASSWORD}\n`);
    expect(added.stdout).toBe('added margaret, an administrator\n');
    expect((await users(['admin', 'grace'])).stdout).toBe('grace is now an administrator\n');
    expect((await users(['list'])).stdout).toMatch(
      /^ada\t\S+Z\ngrace\t\S+Z\tadministrator\nmargaret\t\S+Z\tadministrator\n$/,
    );
    expect((await users(['admin', 'grace', '--revoke'])).stdout).toBe(
      'grace is no longer an administrator\n',
    );
    await users(['remove', 'margaret']);
    expect((await users(['list'])).stdout).not.toContain('administrator');
    expect(await users(['admin', 'nobody'])).toMatchObject({
      code: 1,
      stderr: 'user nobody does not exist\n',
    });
  });

  it('ends after its work even if its stdin stays open', async () => {
    const adding = startScript('users', {
      args: ['add', 'edsger'],
      cwd: folder,
      env: { DATABASE_URL: database.url },
      stdin: null,
    });
    adding.child.stdin?.write(`${PASSWORD}\n`);
    expect(await adding.finished).toMatchObject({ code: 0, stdout: 'added edsger\n' });
  });

  it('changes a password, and reports an unknown user', async () => {
    const before = await storedHash('ada');
    const { code, stdout, stderr } = await users(['password', 'ada'], 'a newer password\n');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'changed the password of ada\n' });
    expect(stdout + stderr).not.toContain('newer');
    const after = await storedHash('ada');
    expect(after).toMatch(/^scrypt\$/);
    expect(after).not.toBe(before);
    expect((await users(['password', 'nobody'], `${PASSWORD}\n`)).stderr).toBe(
      'user nobody does not exist\n',
    );
  });

  it('removes a user, and reports an unknown user', async () => {
    expect((await users(['remove', 'ada'])).stdout).toBe('removed ada\n');
    const { code, stderr } = await users(['remove', 'ada']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'user ada does not exist\n' });
  });

  it.each([
    [['frob']],
    [['add']],
    [['add', 'two', 'names']],
    [['add', '-x']],
    [['password']],
    [['add', 'a b']],
    [],
  ])('reports wrong usage with exit code 2: %j', async (args = []) => {
    const { code, stderr } = await users(args);
    expect(code).toBe(2);
    expect(stderr).not.toMatch(/two|\n {4}at /);
  });

  it('says on stderr that there are no users yet', async () => {
    const empty = await createPostgres();
    const env = { DATABASE_URL: empty.url };
    const { code, stdout, stderr } = await runScript('users', { args: ['list'], cwd: folder, env });
    await empty.close();
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toBe('no users yet: `npm run users -- add NAME`\n');
  });

  it('says in one line that there are no tables yet', async () => {
    const empty = await createPostgres({ migrated: false });
    const { code, stderr } = await runScript('users', {
      args: ['list'],
      cwd: folder,
      env: { DATABASE_URL: empty.url },
    });
    await empty.close();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'the database has no tables yet: run `npm run migrate`\n',
    });
  });

  it('says in one line that the database does not respond', async () => {
    const { code, stderr } = await runScript('users', {
      args: ['list'],
      cwd: folder,
      env: { DATABASE_URL: 'postgres://somebody:pass-word@127.0.0.1:1/none' },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^the database is unavailable: .*ECONNREFUSED.*\n$/);
    expect(stderr).not.toContain('pass-word');
  });
});
