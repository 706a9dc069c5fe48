import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { codeBlocks, readDocument } from '../support/documents.ts';
import { git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { storeKinds, useStoreWorld } from '../support/store-world.ts';
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

describe.each(storeKinds)('%s', (_, { place, isEncrypted }) => {
  const world = useStoreWorld(database, { place, isEncrypted });
  const canRun = (hasAge || !isEncrypted) && (place === 'folder' || hasAws);

  async function runInShell(commands: string) {
    const { exitCode, all } = await execa('bash', ['-e', '-o', 'pipefail', '-c', commands], {
      cwd: world.elsewhere,
      env: {
        ...world.server.env,
        AWS_DEFAULT_REGION: 'us-east-1',
        AWS_EC2_METADATA_DISABLED: 'true',
      },
      all: true,
      reject: false,
    });
    expect(exitCode, all).toBe(0);
    return all;
  }

  /** The documented commands to list and get, with the address of this store. */
  function access(): string {
    const url = new URL(world.address);
    if (place === 'folder') return block('ls "/mnt').replaceAll('/mnt/nas/git', url.pathname);
    const endpoint = url.searchParams.get('endpoint') ?? '';
    return block('aws s3 ls')
      .replaceAll('s3://my-backups/git', `s3://${url.hostname}${url.pathname}`)
      .replaceAll(' git/$1', ` ${url.pathname.slice(1)}/$1`)
      .replaceAll('aws s3', `aws --endpoint-url ${endpoint} s3`);
  }

  it.skipIf(!canRun)('is restored by the documented commands', { timeout: 60_000 }, async () => {
    await world.storeFirst();
    await world.forcePush();
    await world.store();
    await world.loseMachine();
    const names = await runInShell(`${access()}\n${block('for name in')}`);
    const [, name = ''] = /^(\S+) is local\/app$/m.exec(names) ?? [];
    const download = block('name=ada__app').replace('name=ada__app', `name=${name}`);
    const output = await runInShell(`${access()}\n${download}\n${block('from-store.git')}`);
    expect(output.match(/: OK$/gm)).toHaveLength(4);
    const restored = await refsOf(join(world.elsewhere, 'from-store.git'));
    expect(restored).toEqual(await refsOf(world.app.path));
  });

  it.skipIf(place !== 'folder' || isEncrypted)(
    'writes nothing to the path of a forged name',
    async () => {
      await world.storeFirst();
      const state = (await world.objects()).find(({ parsed }) => parsed?.kind === 'state');
      const text = await readFile(state?.path ?? '', 'utf8');
      await writeFile(state?.path ?? '', text.replace('"local__app.versions/1', '"../../evil/1'));
      const download = block('name=ada__app').replace('name=ada__app', 'name=local__app');
      const output = await runInShell(`${access()}\n${download}`);
      expect(output).toContain('not a name of an archive: ../../evil/1.json');
      expect(output.match(/: OK$/gm)).toHaveLength(1);
      expect(await readdir(world.folder)).not.toContain('evil');
    },
  );
});

describe('curl', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: false });

  it('gets an object with the documented command', async () => {
    await world.storeFirst();
    const url = new URL(world.address);
    const endpoint = url.searchParams.get('endpoint') ?? '';
    const get = block('aws-sigv4').replace(
      'https://my-backups.s3.eu-central-1.amazonaws.com/git',
      `${endpoint}/${url.hostname}${url.pathname}`,
    );
    await execa('bash', ['-e', '-c', `${get}\nget README.txt copy.txt`], {
      cwd: world.elsewhere,
      env: world.server.env,
    });
    const copy = await readFile(join(world.elsewhere, 'copy.txt'), 'utf8');
    expect(copy).toContain('Backups of git repositories');
    const [request] = world.server.takeRequests().slice(-1);
    expect(request).toMatchObject({ method: 'GET', key: expect.stringMatching(/README\.txt$/) });
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
      if (!/\.\d+\.bundle$/.test(name)) continue;
      await run(`cd mirror.git && ${command('git fetch', { FILE: `../${name}` })}`);
    }
    expect(await refsOf(join(cwd, 'mirror.git'))).toEqual(await refsOf(world.app.path));
    await git(join(cwd, 'mirror.git'), 'fsck', '--full');
  });
});
