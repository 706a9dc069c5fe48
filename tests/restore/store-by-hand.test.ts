import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { codeBlocks, readDocument } from '../support/documents.ts';
import { git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { type StoreKind, type StoreWorld, useStoreWorld } from '../support/store-world.ts';
import { refsOf } from '../support/versioned-app.ts';

// The commands in docs/archives.md and in a store's README restore from the store without this software.

const database = useDatabase();
const works = async (program: string) =>
  !(await execa(program, ['--version'], { reject: false })).failed;
const [hasAge, hasAws] = await Promise.all(['age', 'aws'].map(works));

const blocks = codeBlocks(readDocument('docs/archives.md'), 'text');
const block = (part: string) => {
  const found = blocks.filter((text) => text.includes(part));
  expect(found).toHaveLength(1);
  return found[0] ?? '';
};

/** A name with characters that mean something to the shell, to regular expressions or to JSON. */
const name = 'c++ "new" app';
const kinds: [string, StoreKind][] = [
  ['a folder', { place: 'folder', isEncrypted: false, name }],
  ['an encrypted folder', { place: 'folder', isEncrypted: true, name }],
  ['a bucket', { place: 'bucket', isEncrypted: false, name }],
];

/** Runs commands on the other machine of a world. */
const runInShell = (world: StoreWorld, ...commands: string[]) =>
  execa('bash', ['-c', commands.join('\n')], {
    cwd: world.elsewhere,
    env: {
      ...world.server.env,
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    all: true,
    reject: false,
  });

/** The documented commands that restore the archive with this name in the store. */
const restoring = (archiveName: string) =>
  `${block('plain() {')}\n${block('name=ada__app').replace('ada__app', `'${archiveName}'`)}`;

/** Checks that all refs of the newest version were restored. */
async function expectNewest(world: StoreWorld, output: string) {
  expect(output.match(/: OK$/gm), output).toHaveLength(4);
  const restored = await refsOf(join(world.elsewhere, 'from-store.git'));
  expect(restored).toEqual(await refsOf(world.app.path));
}

describe.each(kinds)('%s', (_, { place, isEncrypted }) => {
  const world = useStoreWorld(database, { place, isEncrypted, name });
  const canRun = (hasAge || !isEncrypted) && (place === 'folder' || hasAws);

  /** The documented commands to list and get, with the address of this store. */
  function access(): string {
    const url = new URL(world.address);
    if (place === 'folder') return block('ls "/mnt').replaceAll('/mnt/nas/git', url.pathname);
    const endpoint = url.searchParams.get('endpoint') ?? '';
    return block('aws s3 ls')
      .replaceAll('s3://my-backups/git', `s3://${url.hostname}${url.pathname}`)
      .replaceAll('aws s3', `aws --endpoint-url ${endpoint} s3`);
  }

  it.skipIf(!canRun)('is restored by the documented commands', async () => {
    await world.storeFirst();
    await world.forcePush();
    await world.store();
    await world.loseMachine();
    const names = await runInShell(world, access(), block('plain() {'), block('IFS= read -r name'));
    const archiveName = isEncrypted ? names.stdout.replace(/ is .*$/, '') : `local__${name}`;
    expect(names.stdout, names.all).toBe(
      `${archiveName} is ${JSON.stringify(`local/${name}`).slice(1, -1)}`,
    );
    const { exitCode, all } = await runInShell(world, access(), restoring(archiveName));
    expect(exitCode, all).toBe(0);
    await expectNewest(world, all);
    expect(all).toMatch(/^from-store\.git has the newest version of /m);
  });
});

describe('the documented commands', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: false });
  const restore = () => {
    const access = block('ls "/mnt').replaceAll('/mnt/nas/git', new URL(world.address).pathname);
    return runInShell(world, access, restoring('local__app'));
  };
  const pathOf = async (kind: 'state' | 'object') =>
    (await world.objects()).findLast(({ parsed }) => parsed?.kind === kind)?.path ?? '';

  it('write nothing to the path of a forged name', async () => {
    await world.storeFirst();
    const state = await pathOf('state');
    const text = await readFile(state, 'utf8');
    await writeFile(state, text.replace('"local__app.versions/1', '"../../evil/1'));
    const { exitCode, all } = await restore();
    expect(exitCode).toBe(1);
    expect(all).toContain('not a name of an archive: ../../evil/1.json');
    expect(all).not.toContain('from-store.git has the newest version');
    expect(await readdir(world.folder)).not.toContain('evil');
  });

  it.each([
    ['damaged', (path: string) => writeFile(path, 'something else')],
    ['missing', (path: string) => rm(path)],
  ])('fail if a file is %s', async (_, harm) => {
    await world.storeFirst();
    await harm(await pathOf('object'));
    const { exitCode, all } = await restore();
    expect(exitCode).toBe(1);
    expect(all).not.toContain('from-store.git has the newest version');
  });
});

describe.skipIf(!hasAge)('an encrypted bucket', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: true, name });

  it('is restored with curl, given the names that it cannot list', async () => {
    await world.storeFirst();
    await world.forcePush();
    await world.store();
    await world.loseMachine();
    const url = new URL(world.address);
    const access = block('aws-sigv4').replace(
      'https://my-backups.s3.eu-central-1.amazonaws.com/git',
      `${url.searchParams.get('endpoint')}/${url.hostname}${url.pathname}`,
    );
    const { key = '', parsed } =
      (await world.objects()).findLast((one) => one.parsed?.kind === 'state') ?? {};
    const newest = key.replace(/^.*\//, '');
    expect(newest).toBe('00000002.json.age');
    const commands = restoring(parsed?.archiveName ?? '').replace('$(newest "$name")', newest);
    const { exitCode, all } = await runInShell(world, access, commands);
    expect(exitCode, all).toBe(0);
    await expectNewest(world, all);
  });
});

describe.skipIf(!hasAge)('the README of an encrypted store', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: true });

  it('is enough to restore it', async () => {
    await world.storeFirst();
    await world.app.commit({ 'b.txt': 'more' });
    await world.store();
    const objects = await world.objects();
    const pathOf = (key: string) => objects.find((one) => one.key === key)?.path ?? '';
    const readme = await readFile(pathOf('README.txt'), 'utf8');
    /** A command of the README, with its capitalized words replaced. */
    const command = (start: string, words: Record<string, string>) => {
      const line = readme.split('\n').find((text) => text.includes(start)) ?? '';
      const text = line.slice(line.indexOf(start)).replace(/[.:]$/, '');
      return Object.entries(words).reduce((all, [word, by]) => all.replace(word, by), text);
    };
    const cwd = world.elsewhere;
    const run = (text: string) => execa('bash', ['-e', '-c', text], { cwd });

    const state = objects.findLast(({ parsed }) => parsed?.kind === 'state')?.path ?? '';
    const identity = { 'IDENTITY-FILE': 'identity.txt' };
    await run(command('age -d', { ...identity, 'STATE.age': state }));
    const { archive, files } = JSON.parse(await readFile(join(cwd, 'state.json'), 'utf8'));
    await mkdir(join(cwd, archive.replace('.bundle', '.versions')));
    for (const { name, key, sha256 } of files) {
      const decrypt = command('age -d', { ...identity, 'STATE.age': pathOf(key) });
      await run(decrypt.replace('state.json', name));
      const { stdout } = await run(command('sha256sum', { FILE: name }));
      expect(stdout.split(' ')[0]).toBe(sha256);
    }
    await run(`git clone --quiet --mirror ${archive} mirror.git`);
    for (const { name } of files) {
      if (name === archive || !name.endsWith('.bundle')) continue;
      await run(`cd mirror.git && ${command('git fetch', { FILE: `../${name}` })}`);
    }
    expect(await refsOf(join(cwd, 'mirror.git'))).toEqual(await refsOf(world.app.path));
    await git(join(cwd, 'mirror.git'), 'fsck', '--full');
  });
});
