import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { canonicalAddress } from '../../../lib/text/source-address.ts';
import { assignArchives } from '../../../lib/worker/archive/assign-archives.ts';
import { parseSource } from '../../../lib/worker/base/source.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { createRepository, listRefs } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { callWorker } from '../../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
const archives = join(folder, 'archives');

const backUp = (...sources: string[]) => {
  const args = ['run', ...sources.flatMap((source) => ['--source', source])];
  return callWorker({ databaseUrl: database.url, archives, args });
};

async function createClient(name: string): Promise<string> {
  const repository = await createRepository(join(folder, name, 'api'));
  await repository.commit({ 'a.txt': name });
  return repository.path;
}

it('a second address with the same name gets its own archive, and the run says so', async () => {
  const [first, second] = [await createClient('clientA'), await createClient('clientB')];
  expect((await backUp(first)).code).toBe(0);
  const { code, stderr } = await backUp(second);
  expect(code).toBe(0);
  const [, name = ''] =
    /backed up as local\/(api--[0-9a-f]{8}): the archive of local\/api/.exec(stderr) ?? [];
  expect(await listRefs(join(archives, 'local__api.bundle'))).toEqual(await listRefs(first));
  expect(await listRefs(join(archives, `local__${name}.bundle`))).toEqual(await listRefs(second));
  // Each keeps its archive, with and without the other in the run.
  expect((await backUp(second, first)).stdout).toContain('2 unchanged');
  expect((await backUp(second)).stdout).toContain('1 unchanged');
  expect((await readdir(archives)).filter((file) => file.endsWith('.bundle'))).toHaveLength(2);
});

it('each address keeps its archive when one was moved away', async () => {
  const [first, second] = [await createClient('clientA'), await createClient('clientB')];
  await backUp(first, second);
  for (const name of await readdir(archives)) {
    if (name.startsWith('local__api.')) await rename(join(archives, name), join(folder, name));
  }
  // The first fails once, because the worker does not expect its archive to be missing.
  const { stdout, stderr } = await backUp(second, first);
  expect(stdout).toContain('2 repositories, 0 backed up, 1 unchanged, 1 failed');
  expect(stderr).toMatch(/backed up as local\/api--[0-9a-f]{8}: its archive has that name/);
  expect(await listRefs(join(archives, 'local__api.bundle'))).toEqual(await listRefs(first));
  expect((await backUp(first, second)).stdout).toContain(' 0 failed');
  expect((await readdir(archives)).filter((file) => file.endsWith('.bundle'))).toHaveLength(2);
});

it('a repository named like the increment of another archive does not take it over', async () => {
  const app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'x'.repeat(20_000) });
  const args = ['run', '--source', app.path];
  const env = { BACKUP_INCREMENTS_FROM_MIB: '0' };
  const call = () => callWorker({ databaseUrl: database.url, archives, args, env });
  await call();
  await app.git('branch', 'more');
  await call();
  expect(await readdir(archives)).toContain('local__app.1.bundle');
  const other = await createRepository(join(folder, 'app.1'));
  await other.commit({ 'b.txt': 'b' });
  expect((await backUp(other.path)).stderr).toMatch(/backed up as local\/app\.1--[0-9a-f]{8}/);
});

it('an archive of an earlier release, without an address, belongs to the repository of its name', async () => {
  await mkdir(archives);
  await writeFile(join(archives, 'local__api.bundle'), 'of an earlier release');
  const source = parseSource(join(folder, 'api'), folder);
  expect(await assignArchives(archives, [source])).toEqual({ sources: [source], renamed: [] });
});

it.each([
  ['https://host.example/Acme/Api.git', 'https://HOST.example/acme/api/'],
  ['git@host.example:acme/api.git', 'ssh://git@host.example:22/acme/api'],
  ['git@host.example:acme/api', 'https://host.example/acme/api.git'],
  ['ada@host.example:api', 'ssh://ada@HOST.example:22/api.git'],
])('%s and %s are the same repository', (one, other) => {
  expect(canonicalAddress(one)).toBe(canonicalAddress(other));
});

it.each([
  ['http://127.0.0.1:8001/acme/api', 'http://127.0.0.1:8002/acme/api'],
  ['https://one.example/acme/api', 'https://two.example/acme/api'],
  ['ada@host.example:api', 'bob@host.example:api'],
  ['ada@host.example:api', 'ada@host.example:API'],
  ['ssh://git@host.example:2222/acme/api', 'ssh://git@host.example/acme/api'],
  ['/srv/clientA/api', '/srv/clientB/api'],
  ['/srv/api', '/srv/API'],
])('%s and %s are different repositories', (one, other) => {
  expect(canonicalAddress(one)).not.toBe(canonicalAddress(other));
});
