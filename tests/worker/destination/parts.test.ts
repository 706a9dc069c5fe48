import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { beforeEach, describe, expect, it } from 'vitest';
import { committer } from '../../../lib/stores/git/repository-clone.ts';
import { createBigRepository } from '../../support/big-repository.ts';
import { createPostgres } from '../../support/databases.ts';
import { createBare, createRepository, git, listRefs } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { lastResults, rowsOf } from '../../support/worker.ts';

const execute = promisify(execFile);
const database = useDatabase();
const bench = useHostedWorker(database);
let target: string;
const at = (...args: string[]) => git(target, ...args);
const paths = async () => (await at('ls-tree', '-r', '--name-only', 'trunk')).split('\n');
const address = () => `git+file://${target}`;

beforeEach(async () => {
  target = join(bench.folder, 'backups.git');
  await createBare(target, 'trunk');
});

const results = () => lastResults(database.db);
/** Variables for a worker that encrypts or not, and the option with which commands decrypt. */
async function chooseEncryption(isEncrypted: boolean) {
  if (!isEncrypted) return { encryption: {}, identity: [] };
  const identity = await generateIdentity();
  const path = join(bench.folder, 'identity.txt');
  await writeFile(path, `${identity}\n`);
  const recipient = await identityToRecipient(identity);
  return {
    encryption: { BACKUP_AGE_RECIPIENTS: recipient, BACKUP_NAMES_KEY: 'of names, '.repeat(4) },
    identity: ['--identity', path],
  };
}
const run = (args = ['run'], env: Record<string, string> = {}) =>
  bench.run({ databaseUrl: database.url, args, env: { BACKUP_REPO_PATH: target, ...env } });
/** The size of everything that the destination can reach, compressed. */
async function sizeOf(): Promise<number> {
  await at('repack', '-a', '-d', '--quiet');
  const [, size] = /^size-pack: (\d+)$/m.exec(await at('count-objects', '-v')) ?? [];
  return Number(size) * 1024;
}

it('a destination gets all archives of a run in one commit, with restore instructions', async () => {
  await bench.add({ fullName: 'team/a', private: true });
  await bench.add({ fullName: 'team/b' });
  await bench.logIn();
  const { code, stderr } = await run();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const found = await paths();
  expect(found.map((path) => path.replace(/[0-9a-f]{64}/, 'SHA').replace(/\.\d+$/, ''))).toEqual([
    'README.md',
    'archives/team__a/objects/SHA.part-0001-of-0001',
    'archives/team__a/objects/SHA.part-0001-of-0001',
    'archives/team__a/states/00000001.json.part-0001-of-0001',
    'archives/team__b/objects/SHA.part-0001-of-0001',
    'archives/team__b/objects/SHA.part-0001-of-0001',
    'archives/team__b/states/00000001.json.part-0001-of-0001',
  ]);
  expect(await at('log', '--format=%s', 'trunk')).toBe('Back up 2 archives');
  expect(await at('fsck', '--full', '--strict')).toBe('');
  expect((await results()).map(({ status }) => status)).toEqual(['completed', 'completed']);
  const stores = 'SELECT store, version, reason FROM archive_stores ORDER BY repo_full_name';
  const stored = { store: address(), version: 1, reason: '' };
  expect(await rowsOf(database.db, stores)).toEqual([stored, stored]);
  expect((await readdir(bench.archives)).filter((name) => name.startsWith('.'))).toEqual([]);
  const data = await readdir(`${bench.archives}-data/stores`, { recursive: true });
  expect(data.filter((name) => name.includes('.scratch-'))).toEqual([]);

  const again = await run();
  expect(again.stdout).toContain('2 unchanged');
  expect(await at('rev-list', '--count', 'trunk')).toBe('1');
});

it('a destination grows with many changes by little more than what is new', async () => {
  const app = await createRepository(join(bench.folder, 'app'));
  const noise = randomBytes(2 * 2 ** 20).toString('hex');
  await app.commit({ noise, 'a.txt': '0' });
  const backUp = () => run(['run', '--source', app.path]);
  expect((await backUp()).code).toBe(0);
  const before = await sizeOf();
  expect(before).toBeGreaterThan(2 * 2 ** 20);
  for (let change = 1; change <= 3; change++) {
    await app.commit({ 'a.txt': `${change}` });
    expect((await backUp()).code).toBe(0);
  }
  expect(await at('rev-list', '--count', 'trunk')).toBe('4');
  expect((await sizeOf()) - before).toBeLessThan(30_000);
});

it('a destination can be restored by hand as its README and the documents say', () =>
  restoreByHand(false));

const [hasAge] = ['age'].map((tool) => spawnSync(tool, ['--version']).error === undefined);
it.skipIf(!hasAge)(
  'an encrypted destination can be restored by hand likewise (skipped without age)',
  () => restoreByHand(true),
);

async function restoreByHand(isEncrypted: boolean): Promise<void> {
  const { encryption, identity } = await chooseEncryption(isEncrypted);
  const repository = 'c++ "new" app';
  const app = await createRepository(join(bench.folder, repository));
  await app.commit({ noise: randomBytes(20_000).toString('hex') });
  const increments = { BACKUP_INCREMENTS_FROM_MIB: '0', ...encryption };
  const backUp = () => run(['run', '--source', app.path], increments);
  await backUp();
  await app.commit({ 'b.txt': 'b' });
  await app.git('tag', 'v1');
  await backUp();
  await git(bench.folder, 'clone', '--quiet', '--branch', 'trunk', target, 'by-hand');
  const folder = join(bench.folder, 'by-hand');
  const guide = await readFile(join(folder, 'README.md'), 'utf8');
  const [names = '', block = ''] = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, text = '']) => text,
  );
  const [name = ''] = await readdir(join(folder, 'archives'));
  expect(name === `local__${repository}`).toBe(!isEncrypted);
  if (identity[1] !== undefined) await copyFile(identity[1], join(folder, 'identity.txt'));
  const script = block.replace('name=acme__api', `name='${name}'`);
  expect(script).toContain(`name='${name}'\n`);
  const inShell = (commands: string) => execute('bash', ['-euc', commands], { cwd: folder });
  const isNamed = `${name} is ${JSON.stringify(`local/${repository}`).slice(1, -1)}\n`;
  expect((await inShell(names)).stdout).toBe(isNamed);
  await inShell(`${names}\n${script}`);
  const refs = await app.git('for-each-ref');
  expect(await git(join(folder, 'restored.git'), 'for-each-ref')).toBe(refs);

  const document = await readFile(join(import.meta.dirname, '../../../docs/archives.md'), 'utf8');
  const blocks = [...document.matchAll(/```text\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const find = (part: string) => {
    const found = blocks.filter((text) => text.includes(part));
    expect(found).toHaveLength(1);
    return found[0] ?? '';
  };
  const access = `${find('cat "$1".part-*')}\n${find('plain() {')}`;
  expect((await inShell(`${access}\n${find('IFS= read -r name')}`)).stdout).toBe(isNamed);
  await inShell(`${access}\n${find('name=ada__app').replace('ada__app', `'${name}'`)}`);
  expect(await git(join(folder, 'from-store.git'), 'for-each-ref')).toBe(refs);
}

it('a destination keeps a README and other files that are not ours', async () => {
  const other = await createRepository(join(bench.folder, 'other'));
  await other.commit({ 'README.md': 'mine', 'docs/x': 'x' });
  await other.git('push', '--quiet', target, 'HEAD:trunk');
  await bench.add({ fullName: 'team/a' });
  await bench.logIn();
  expect((await run()).code).toBe(0);
  expect(await at('show', 'trunk:README.md')).toBe('mine');
  expect(await at('show', 'trunk:docs/x')).toBe('x');
  expect(await at('show', 'trunk:RESTORE.md')).toContain('## Restore a repository by hand');
});

it('a destination gets archives that an earlier run could not push, even if nothing changed', async () => {
  await bench.add({ fullName: 'team/a' });
  await bench.logIn();
  const there = target;
  target = join(bench.folder, 'missing.git');
  expect((await run()).code).toBe(1);
  expect(await results()).toMatchObject([
    { status: 'failed', error_message: expect.stringMatching(/^not pushed: .*does not exist/) },
  ]);
  target = there;
  expect((await run()).code).toBe(0);
  expect(await results()).toMatchObject([{ repo_full_name: 'team/a', status: 'completed' }]);
});

it('nothing is lost when two workers push at the same time, even the same archive', async () => {
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) await bench.add({ fullName: `team/${name}` });
  const both = [names.slice(0, 3), names.slice(1)];
  const workers = await Promise.all(
    both.map(async (some, index) => {
      const own = await createPostgres();
      const sources = some.flatMap((name) => ['--source', join(bench.folder, 'work/team', name)]);
      const ended = await bench.run({
        databaseUrl: own.url,
        archives: join(bench.folder, `archives-${index}`),
        args: ['run', ...sources],
        env: { BACKUP_REPO_PATH: target },
      });
      await own.close();
      return ended;
    }),
  );
  for (const { code, stderr } of workers) expect(code, stderr).toBe(0);
  const states = (await paths()).filter((path) => path.includes('/states/'));
  // Each worker made its own archive, and both are kept.
  expect(states).toHaveLength(6);
  const { code, stdout } = await run(['store', 'check', '--deep', '--store', address()]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('everything is there'),
  });
});

describe('the layout', () => {
  it('stays `files` in a destination with archives at its root', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    await run(['run'], { BACKUP_REPO_LAYOUT: 'files' });
    await bench.add({ fullName: 'team/b' });
    expect((await run()).code).toBe(0);
    expect(await paths()).toEqual(['team__a.bundle', 'team__b.bundle']);
  });

  it.each([
    ['files', 'parts', 'the destination has the layout `parts`'],
    ['parts', 'files', 'in the layout `files`: `npm run worker -- store migrate`'],
  ])('is not mixed: %s is rejected where it is %s', async (layout, is, message) => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    await run(['run'], { BACKUP_REPO_LAYOUT: is });
    const before = await at('rev-parse', 'trunk');
    await bench.add({ fullName: 'team/b' });
    expect((await run(['run'], { BACKUP_REPO_LAYOUT: layout })).code).toBe(1);
    expect(await results()).toContainEqual(
      expect.objectContaining({
        repo_full_name: 'team/b',
        status: 'failed',
        error_message: expect.stringContaining(message),
      }),
    );
    expect(await at('rev-parse', 'trunk')).toBe(before);
  });
});

describe('BACKUP_REPO_MAX_SIZE', () => {
  const env = { BACKUP_REPO_MAX_SIZE: '1' };

  const numbers = async () =>
    (await paths()).flatMap((path) => /states\/0*(\d+)\.json/.exec(path)?.[1] ?? []);
  const check = (...identity: string[]) =>
    run(['store', 'check', '--deep', '--store', address(), ...identity]);

  it.each([
    ['plain', false],
    ['encrypted', true],
  ])('starts the repository anew with what the newest state needs: %s', async (_, isEncrypted) => {
    const { encryption, identity } = await chooseEncryption(isEncrypted);
    const app = await createRepository(join(bench.folder, 'app'));
    const sources = ['run', '--source', app.path];
    const whole = { BACKUP_INCREMENTS_FROM_MIB: '1000', ...encryption };
    for (let change = 0; change < 3; change++) {
      await app.commit({ [`${change}`]: randomBytes(2 ** 18).toString('hex') });
      await run(sources, whole);
    }
    const [first = ''] = (await at('rev-list', '--reverse', 'trunk')).split('\n');
    await app.commit({ last: randomBytes(2 ** 17).toString('hex') });
    const { code, stderr } = await run(sources, { ...whole, ...env });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      / has \d\S* MiB, and BACKUP_REPO_MAX_SIZE is 1\.0 MiB: it was started anew and has \S+ [KM]iB now/,
    );
    expect(await at('rev-list', '--count', 'trunk')).toBe('1');
    // What is no longer needed is removed from the folder, too.
    await expect(at('cat-file', '-e', first)).rejects.toThrow();
    expect(await numbers()).toEqual(['4']);
    expect(await check(...identity)).toMatchObject({ code: 0 });
    const versions = ['restore', '--from', address(), 'local/app', '--version', '1', ...identity];
    expect(await run([...versions, '--bare', '--to', 'back.git'])).toMatchObject({ code: 0 });
    // The ledger is still correct.
    expect((await run(sources, whole)).stdout).toContain('1 unchanged');
  });

  const ada = Object.fromEntries(Object.keys(committer).map((name) => [name, 'ada@example.org']));
  it.each([
    ['it has commits by others', ada, { 'more.txt': 'more' }],
    ['it had files by others', committer, { 'mine.txt': 'changed' }],
  ])('does not start a repository anew that is not only ours: %s', async (reason, by, files) => {
    const app = await createRepository(join(bench.folder, 'app'));
    await app.commit({ noise: randomBytes(2 ** 20).toString('hex') });
    const other = await createRepository(join(bench.folder, 'other'));
    await other.commit({ 'mine.txt': 'mine' });
    await other.commit(files);
    const amend = ['commit', '--quiet', '--amend', '--no-edit', '--reset-author'];
    await execute('git', amend, { cwd: other.path, env: { PATH: process.env.PATH, ...by } });
    await other.git('push', '--quiet', target, 'HEAD:trunk');
    const { stderr } = await run(['run', '--source', app.path], env);
    expect(stderr).toContain(`it was not started anew, because ${reason}`);
    expect(await at('rev-list', '--count', 'trunk')).toBe('3');
  });

  it('keeps the files with which the host created the repository when it starts it anew', async () => {
    const app = await createRepository(join(bench.folder, 'app'));
    await app.commit({ noise: randomBytes(2 ** 20).toString('hex') });
    const host = await createRepository(join(bench.folder, 'host'));
    await host.commit({ 'README.md': '# backups', LICENSE: 'MIT' });
    await host.git('push', '--quiet', target, 'HEAD:trunk');
    const { stderr } = await run(['run', '--source', app.path], env);
    expect(stderr).toContain('it was started anew');
    expect(await at('rev-list', '--count', 'trunk')).toBe('1');
    expect(await at('show', 'trunk:README.md')).toBe('# backups');
    expect(await paths()).toEqual(expect.arrayContaining(['LICENSE', 'RESTORE.md']));
  });

  it.each([
    ['a machine was lost', 'archives-2', false],
    ['a machine was lost', 'archives-2', true],
    ['an archive was moved away', 'archives', false],
    ['an archive was moved away', 'archives', true],
  ])(
    'keeps the versions of before %s (then in %s, encrypted: %s)',
    async (_, name, isEncrypted) => {
      const { encryption, identity } = await chooseEncryption(isEncrypted);
      const whole = { BACKUP_INCREMENTS_FROM_MIB: '1000', ...encryption };
      const app = await createRepository(join(bench.folder, 'app'));
      const source = ['run', '--source', app.path];
      for (const file of ['first', 'second']) {
        await app.commit({ [file]: randomBytes(2 ** 18).toString('hex') });
        await run(source, whole);
      }
      const refs = await listRefs(app.path);
      const then = new Date().toISOString();
      const archives = join(bench.folder, name);
      await rm(bench.archives, { recursive: true });
      await app.git('checkout', '--quiet', '--orphan', 'other');
      await app.git('branch', '-D', 'main');
      const backUp = async (more: Record<string, string> = {}) => {
        await app.commit({ third: randomBytes(2 ** 18).toString('hex') });
        return bench.run({
          ...{ databaseUrl: database.url, archives, args: source },
          env: { BACKUP_REPO_PATH: target, ...whole, ...more },
        });
      };
      await backUp();
      expect((await backUp(env)).stderr).toMatch(
        / has \S+ MiB now, all of which is needed\. Older states of archives\/\w+ are kept,/,
      );
      expect(await at('rev-list', '--count', 'trunk')).toBe('1');
      // The second state has what the first one has, but encrypted ones cannot be compared.
      expect(await numbers()).toEqual(isEncrypted ? ['1', '2', '3', '4'] : ['2', '3', '4']);
      expect(await check(...identity)).toMatchObject({ code: 0 });
      const restore = ['restore', '--from', address(), 'local/app', '--at', then, ...identity];
      expect(await run([...restore, '--bare', '--to', 'then.git'])).toMatchObject({ code: 0 });
      expect(await listRefs(join(bench.folder, 'then.git'))).toEqual(refs);
    },
  );

  it.each([
    ['plain', false],
    ['encrypted', true],
  ])('keeps what another machine has of the same archive: %s', async (_, isEncrypted) => {
    const { encryption, identity } = await chooseEncryption(isEncrypted);
    const whole = { BACKUP_INCREMENTS_FROM_MIB: '1000', ...encryption };
    const app = await createRepository(join(bench.folder, 'app'));
    const own = await createPostgres();
    const machines = [
      { databaseUrl: database.url, archives: bench.archives },
      { databaseUrl: own.url, archives: join(bench.folder, 'archives-2') },
    ];
    for (const [index, more] of [{}, {}, {}, env].entries()) {
      await app.commit({ [`${index}`]: randomBytes(2 ** 18).toString('hex') });
      const machine = machines[index % 2];
      if (machine === undefined) throw new Error('there is no such machine');
      const { code } = await bench.run({
        ...{ ...machine, args: ['run', '--source', app.path] },
        env: { BACKUP_REPO_PATH: target, ...whole, ...more },
      });
      expect(code).toBe(0);
    }
    await own.close();
    expect(await at('rev-list', '--count', 'trunk')).toBe('1');
    expect(await numbers()).toEqual(isEncrypted ? ['1', '2', '3', '4'] : ['3', '4']);
    expect(await check(...identity)).toMatchObject({ code: 0 });
  });

  it('keeps archives of other machines', async () => {
    const [app, other] = await Promise.all([
      createRepository(join(bench.folder, 'app')),
      createRepository(join(bench.folder, 'other')),
    ]);
    for (const one of [app, other]) {
      await one.commit({ noise: randomBytes(2 ** 20).toString('hex') });
    }
    const own = await createPostgres();
    await bench.run({
      databaseUrl: own.url,
      archives: join(bench.folder, 'archives-2'),
      args: ['run', '--source', other.path],
      env: { BACKUP_REPO_PATH: target },
    });
    await own.close();
    const { stderr } = await run(['run', '--source', app.path], env);
    expect(stderr).toContain('it was started anew');
    const list = await run(['restore', '--from', address(), '--list']);
    expect(list.stdout).toContain('local/app');
    expect(list.stdout).toContain('local/other');
    expect(await run(['store', 'check', '--deep', '--store', address()])).toMatchObject({
      code: 0,
    });
  });
});

describe('store migrate', () => {
  const files = { BACKUP_REPO_LAYOUT: 'files' };
  const migrate = (...args: string[]) => run(['store', 'migrate', ...args]);

  it('turns the layout `files` into `parts` in one commit, and can be repeated', async () => {
    for (const name of ['a', 'b']) await bench.add({ fullName: `team/${name}` });
    await bench.logIn();
    await run(['run'], { ...files, BACKUP_INCREMENTS_FROM_MIB: '0' });
    const work = join(bench.folder, 'work/team/a');
    await git(work, 'commit', '--quiet', '--allow-empty', '-m', 'more');
    await git(work, 'push', '--quiet', 'origin', 'main');
    await run(['run'], { ...files, BACKUP_INCREMENTS_FROM_MIB: '0' });
    expect(await paths()).toContain('team__a.1.bundle');
    const commits = Number(await at('rev-list', '--count', 'trunk'));
    await expect(migrate()).rejects.toThrow(/give --yes$/);
    expect(await at('rev-list', '--count', 'trunk')).toBe(`${commits}`);
    const { code, stdout } = await migrate('--yes');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${address()}: 2 archives of 2 in parts, 3 files removed from the root\n`,
    });
    expect(await at('rev-list', '--count', 'trunk')).toBe(`${commits + 1}`);
    expect(await at('ls-tree', '--name-only', 'trunk')).toBe('README.md\narchives');
    expect(await migrate('--yes')).toMatchObject({ code: 0 });
    expect(await at('rev-list', '--count', 'trunk')).toBe(`${commits + 1}`);
    expect(await run(['store', 'check', '--deep', '--store', address()])).toMatchObject({
      code: 0,
    });
    expect((await run()).stdout).toContain('2 unchanged');
  });

  it('keeps the files at the root if one of them belongs to no archive here, and names it', async () => {
    const other = await createRepository(join(bench.folder, 'other'));
    await other.commit({ 'team__lost.bundle': 'of another machine' });
    await other.git('push', '--quiet', target, 'HEAD:trunk');
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    await run(['run'], files);
    const { code, stdout } = await migrate('--yes');
    expect(code).toBe(1);
    expect(stdout).toContain(
      'fault: team__lost.bundle does not belong to an archive that was pushed',
    );
    const found = await paths();
    expect(found).toEqual(expect.arrayContaining(['team__a.bundle', 'team__lost.bundle']));
    expect(found.some((path) => path.startsWith('archives/team__a/states/'))).toBe(true);
  });

  it('pushes nothing that is damaged here, and then removes nothing', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    await run(['run'], files);
    const path = join(bench.archives, 'team__a.versions/1.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('main', 'nain'));
    const before = await at('rev-parse', 'trunk');
    const { code, stdout } = await migrate('--yes');
    expect(code).toBe(1);
    expect(stdout).toContain('fault: team__a.versions/1.json is damaged: not pushed');
    expect(await at('rev-parse', 'trunk')).toBe(before);
  });
});

// The last one: afterwards this process has so much memory that starting git takes longer.
it('an archive above 100 MiB is pushed in parts and restored from them', async () => {
  const big = await createBigRepository(join(bench.folder, 'big'));
  expect(await run(['run', '--source', big.path])).toMatchObject({ code: 0 });
  expect(await results()).toMatchObject([{ status: 'completed' }]);
  const sizes = (await at('ls-tree', '-r', '-l', 'trunk')).split('\n').map((line) => {
    const [, size, path = ''] = / +(\d+)\t(.*)$/.exec(line) ?? [];
    return { path, size: Number(size) };
  });
  const parts = sizes.filter(({ path }) => /-of-0002\./.test(path));
  expect(parts).toHaveLength(2);
  expect(parts[0]?.size).toBe(95 * 2 ** 20);
  for (const { path, size } of parts) expect(path.endsWith(`.${size}`)).toBe(true);
  const args = ['restore', '--from', address(), 'local/big', '--bare', '--to', 'back.git'];
  expect(await run(args)).toMatchObject({ code: 0 });
  expect(await listRefs(join(bench.folder, 'back.git'))).toEqual(await listRefs(big.path));
});
