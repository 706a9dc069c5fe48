import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { createBare, createRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { useS3Server } from '../support/s3-server.ts';
import { refsOf } from '../support/versioned-app.ts';
import { callWorker } from '../support/worker.ts';

// Machine A backs up to a bucket and a git repository in the same runs, and is lost with its database. Machine B has
// the addresses, the credentials and the identity.

const database = useDatabase();
const folder = useTemporaryFolder();
const server = useS3Server();

it('a new machine restores every repository at two dates from each store, and recreates one on a host', async () => {
  const identity = await generateIdentity();
  await writeFile(join(folder, 'identity.txt'), `${identity}\n`);
  const gitStore = join(folder, 'backups.git');
  await createBare(gitStore);
  const bucket = server.address('lost');
  const stores = [bucket, `git+file://${gitStore}`];
  const sources = await Promise.all(
    ['one', 'two'].map((name) => createRepository(join(folder, name))),
  );
  const commitAll = async (text: string) => {
    for (const source of sources) await source.commit({ 'a.txt': text });
  };
  const archives = join(folder, 'archives');
  const backUp = async () => {
    const { code, stderr } = await callWorker({
      databaseUrl: database.url,
      archives,
      args: ['run', ...sources.flatMap(({ path }) => ['--source', path])],
      env: {
        BACKUP_STORES: stores.join(','),
        BACKUP_STORES_NEEDED: '2',
        BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity),
        BACKUP_NAMES_KEY: 'a key of names that is long enough for it',
        BACKUP_INCREMENTS_FROM_MIB: '0',
      },
    });
    expect(code, stderr).toBe(0);
    return Promise.all(sources.map(({ path }) => refsOf(path)));
  };
  await commitAll('first');
  const first = await backUp();
  const between = new Date().toISOString();
  await commitAll('second');
  const second = await backUp();
  await rm(archives, { recursive: true });
  await rm(`${archives}-data`, { recursive: true });

  const restore = async (...args: string[]) => {
    const { code, stdout, stderr } = await callWorker({
      databaseUrl: 'postgres://127.0.0.1:1/none',
      archives: join(folder, 'none'),
      folder,
      args: ['restore', '--identity', 'identity.txt', ...args],
    });
    expect(code, stdout + stderr).toBe(0);
  };
  const refsIn = (path: string) =>
    Promise.all(['one', 'two'].map((name) => refsOf(join(folder, path, 'local', name))));
  for (const [index, store] of stores.entries()) {
    await restore('--from', store, '--all', '--at', between, '--to', `then-${index}`);
    expect(await refsIn(`then-${index}`)).toEqual(first);
    await restore('--from', store, '--all', '--to', `now-${index}`);
    expect(await refsIn(`now-${index}`)).toEqual(second);
    const host = join(folder, `host-${index}.git`);
    await createBare(host);
    await restore('--from', store, 'local/two', '--push', host);
    expect(await refsOf(host)).toEqual(second[1]);
  }
});
