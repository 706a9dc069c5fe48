import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { archiveKey, isRepositoryName } from '../../../lib/archives/base/archive-name.ts';
import { readArchiveOnDisk } from '../../../lib/worker/archive/archive.ts';
import { setAside } from '../../../lib/worker/archive/set-aside.ts';
import { parseSource } from '../../../lib/worker/base/source.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { createRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { callWorker } from '../../support/worker.ts';

// A file name can have 255 bytes, and so can the name of a folder that is backed up.

const database = useDatabase();
const folder = useTemporaryFolder();
const archives = join(folder, 'archives');
const store = `file://${join(folder, 'store')}`;

const call = (...args: string[]) =>
  callWorker({
    databaseUrl: database.url,
    archives,
    args,
    folder,
    env: { BACKUP_STORES: store },
  });

async function create(name: string): Promise<string> {
  await mkdir(join(folder, 'sources', name), { recursive: true });
  const repository = await createRepository(join(folder, 'sources', name));
  await repository.commit({ 'length.txt': `${Buffer.byteLength(name)}` });
  return repository.path;
}

const names = [200, 201, 211, 212, 236, 237, 255].map((length) => 'n'.repeat(length));
const others = ['\u{1F600}'.repeat(63), `\u00fc${'M'.repeat(250)}`, 'a\\b', 'CON', 'x.lock', 'a b'];

it('whatever can be archived can be listed, drilled, and restored from the folder and from a store', async () => {
  await mkdir(join(folder, 'store'));
  const paths: string[] = [];
  for (const name of [...names, ...others]) paths.push(await create(name));
  const back = () => call('run', ...paths.flatMap((path) => ['--source', path]));
  const ran = await back();
  expect(ran.code, ran.stderr).toBe(0);
  expect((await back()).stdout).toContain(`${paths.length} unchanged`);
  const { stdout } = await call('versions', '--json');
  const listed = JSON.parse(stdout) as { repository: string; archive: string }[];
  expect(listed.map(({ repository }) => repository).sort()).toEqual(
    paths.map((path) => `local/${basename(path).replace('\\', '_')}`).sort(),
  );
  for (const { repository, archive } of listed) {
    expect(archive).toBe(archiveKey(repository));
    expect((await call('drill', '--repo', repository)).code, repository).toBe(0);
    for (const from of [[], ['--from', store]]) {
      const to = join(folder, 'restored');
      const { code } = await call('restore', repository, '--to', to, ...from);
      expect(code).toBe(0);
      const name = paths.find((path) => basename(path).replace('\\', '_') === repository.slice(6));
      expect(await readFile(join(to, 'length.txt'), 'utf8')).toBe(
        `${Buffer.byteLength(basename(name ?? ''))}`,
      );
      await rm(to, { recursive: true });
    }
  }
  for (const from of [[], ['--from', store]]) {
    const to = join(folder, 'all');
    const all = await call('restore', '--all', '--bare', '--to', to, ...from);
    expect(all.code, all.stderr).toBe(0);
    expect((await readdir(join(to, 'local'))).length).toBe(paths.length);
    await rm(to, { recursive: true });
  }
});

it('an archive that an earlier release could write keeps its file name', () => {
  const name = `local/${'N'.repeat(236)}`;
  expect(archiveKey(name)).toBe(`local__${'n'.repeat(236)}.bundle`);
  const shortened = archiveKey(`${name}n`);
  expect(shortened).toMatch(/^local__n{218}--[0-9a-f]{16}\.bundle$/);
  expect(archiveKey(`${name}N`)).toBe(shortened);
  expect(archiveKey(`${name}o`)).not.toBe(shortened);
  expect(archiveKey(`a__b/${'c'.repeat(250)}`)).not.toBe(archiveKey(`a/b__${'c'.repeat(250)}`));
});

it('a long archive that is damaged is set aside, and its versions can be restored', async () => {
  const path = await create('d'.repeat(255));
  await mkdir(join(folder, 'store'));
  expect((await call('run', '--source', path)).code).toBe(0);
  const name = `local/${basename(path)}`;
  const aside = await setAside(archives, archiveKey(name), Date.UTC(2026, 2, 4, 5, 6, 7));
  expect(aside).toMatch(/--[0-9a-f]{16}\.bundle\.damaged-20260304T050607Z$/);
  const listed = JSON.parse((await call('versions', '--json')).stdout);
  const called = `${name}@damaged-20260304T050607Z`;
  expect(listed).toMatchObject([{ repository: called, is_set_aside: true, is_misnamed: false }]);
  const to = join(folder, 'restored');
  expect((await call('restore', called, '--to', to)).code).toBe(0);
  expect(await readFile(join(to, 'length.txt'), 'utf8')).toBe('255');
});

it('a part of an address that is longer than a file name is shortened', () => {
  const long = 'r'.repeat(300);
  const { name } = parseSource(`https://host.example/${'o'.repeat(300)}/${long}.git`, '/');
  expect(isRepositoryName(name)).toBe(true);
  expect(name).toMatch(/^o{245}--[0-9a-f]{8}\/r{245}--[0-9a-f]{8}$/);
  expect(parseSource(`https://host.example/${'o'.repeat(300)}/${long}s`, '/').name).not.toBe(name);
});

describe('a file system with shorter names', () => {
  it('has no archive of a name that it cannot have', async () => {
    await writeFile(join(folder, 'file'), '');
    expect(await readArchiveOnDisk(folder, `${'x'.repeat(300)}.bundle`)).toEqual({
      record: null,
      files: [],
      versions: [],
      isSettled: false,
      obstacle: null,
    });
  });
});
