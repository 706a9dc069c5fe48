import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach } from 'vitest';
import { parseManifest } from '../../lib/archives/base/manifest.ts';
import { type ArchiveNote, parseNote } from '../../lib/archives/base/note.ts';
import type { TestDatabase } from './databases.ts';
import { useSharedFolder, useTemporaryFolder } from './folders.ts';
import { copyRepository, createRepository, feedGit, git, type TestRepository } from './git.ts';
import { latest } from './hooks.ts';
import { prepareOnce } from './prepare-once.ts';
import { callWorker } from './worker.ts';

/** Variables that give every archive increments. */
export const withIncrements = { BACKUP_INCREMENTS_FROM_MIB: '0' };

/** A repository `local/app` with two commits and a branch, and its archive. */
export interface VersionedApp {
  folder: string;
  /** The folders that runs change, for `prepareOnce`. */
  folders: string[];
  archives: string;
  app: TestRepository;
  backUp(env?: Record<string, string>): ReturnType<typeof callWorker>;
  /** Backs up the repository in its first state: really in one test; the others get a copy of the result. */
  backUpFirst(env?: Record<string, string>): ReturnType<typeof callWorker>;
  readNote(): Promise<ArchiveNote>;
  /** The refs of a version according to its manifest, without HEAD. */
  refsOfVersion(version: number): Promise<string[]>;
  /** Restores a version with git alone, and returns its refs. */
  restore(version: number): Promise<string[]>;
  /** Rewrites the history of `main`, and deletes the old one as a host does. */
  forcePush(): Promise<void>;
}

/** The refs of a repository, without HEAD. */
export async function refsOf(path: string): Promise<string[]> {
  return (await git(path, 'for-each-ref', '--format=%(objectname) %(refname)')).split('\n').sort();
}

const nameOf = (ref: string) => ref.slice(ref.indexOf(' ') + 1);

/** Gives each test an app, always in the same folder, whose name is also that of the repository. */
export function useVersionedApp(database: TestDatabase, name = 'app'): VersionedApp {
  const origin = useSharedFolder();
  const folder = useTemporaryFolder();
  let repository: TestRepository;
  let current: VersionedApp;
  const world = latest(() => current);
  const first = prepareOnce(world, database, (env: Record<string, string>) => world.backUp(env));
  const backUpFirst = (env = {}) => first(env);
  beforeAll(async () => {
    repository = await createFirst(origin);
  });
  beforeEach(async () => {
    // The stores still have the addresses of the test before.
    await database.db.query({ text: 'DELETE FROM archive_stores' });
    current = { ...(await createVersionedApp(database, repository, folder, name)), backUpFirst };
  });
  return world;
}

/** The repository that each test gets a copy of. */
async function createFirst(path: string): Promise<TestRepository> {
  const app = await createRepository(path);
  // Large enough that a few increments do not make a new full bundle due.
  await app.commit({ 'a.txt': 'one', noise: randomBytes(20_000).toString('hex') }, 'one');
  await app.commit({ 'a.txt': 'two' }, 'two');
  await app.git('branch', 'topic');
  return app;
}

async function createVersionedApp(
  database: TestDatabase,
  first: TestRepository,
  folder: string,
  name: string,
): Promise<Omit<VersionedApp, 'backUpFirst'>> {
  const archives = join(folder, 'archives');
  const app = await copyRepository(first, join(folder, name));

  const readNote = async () => {
    const note = parseNote(await readFile(join(archives, `local__${name}.bundle.json`), 'utf8'));
    if (note === null) throw new Error('there is no valid note');
    return note;
  };
  const refsOfVersion = async (version: number) => {
    const path = join(archives, `local__${name}.versions`, `${version}.json`);
    const refs = parseManifest(await readFile(path, 'utf8'))?.refs ?? {};
    return Object.entries(refs)
      .filter(([name]) => name !== 'HEAD')
      .map(([name, id]) => `${id} ${name}`)
      .sort();
  };
  return {
    ...{ folder, folders: [folder], archives, app, readNote, refsOfVersion },
    backUp: (env = {}) =>
      callWorker({
        databaseUrl: database.url,
        archives,
        args: ['run', '--source', app.path],
        env,
      }),
    async restore(version) {
      const { versions, increments } = await readNote();
      const entry = versions.find((one) => one.version === version);
      const mirror = join(folder, `restored-${version}.git`);
      await rm(mirror, { recursive: true, force: true });
      await git(archives, 'clone', '--quiet', '--mirror', `local__${name}.bundle`, mirror);
      for (const { name } of increments.slice(0, (entry?.files ?? 1) - 1)) {
        await git(mirror, 'fetch', '--quiet', '--prune', join(archives, name), '+refs/*:refs/*');
      }
      await git(mirror, 'fsck', '--full', '--strict');
      const wanted = new Map((await refsOfVersion(version)).map((ref) => [nameOf(ref), ref]));
      const others = (await refsOf(mirror)).map(nameOf).filter((name) => !wanted.has(name));
      const changes = [
        ...others.map((name) => `delete ${name}\n`),
        ...[...wanted].map(([name, ref]) => `update ${name} ${ref.split(' ')[0]}\n`),
      ];
      await feedGit(mirror, ['update-ref', '--stdin'], changes.join(''));
      await git(mirror, 'rev-list', '--objects', '--all', '--quiet');
      return refsOf(mirror);
    },
    async forcePush() {
      await app.git('update-ref', '-d', 'refs/heads/main');
      await app.commit({ 'a.txt': 'rewritten' }, 'rewritten');
      await rm(join(app.path, '.git/logs'), { recursive: true });
      await app.git('prune', '--expire=now');
    },
  };
}
