import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { parseManifest } from '../../lib/archives/manifest.ts';
import { type ArchiveNote, parseNote } from '../../lib/archives/note.ts';
import type { TestDatabase } from './databases.ts';
import {
  copyRepository,
  createRepository,
  git,
  type TestRepository,
  temporaryFolder,
} from './git.ts';
import { latest } from './hooks.ts';
import { callWorker } from './worker.ts';

/** Variables with which every archive gets increments. */
export const withIncrements = { BACKUP_INCREMENTS_FROM_MIB: '0' };

/** A repository `local/app` with two commits and a branch, and its archive. */
export interface VersionedApp {
  folder: string;
  archives: string;
  app: TestRepository;
  backUp(env?: Record<string, string>): ReturnType<typeof callWorker>;
  readNote(): Promise<ArchiveNote>;
  /** The refs of a version by its manifest, without HEAD. */
  refsOfVersion(version: number): Promise<string[]>;
  /** Restores a version with git alone, and returns its refs. */
  restore(version: number): Promise<string[]>;
  /** Replaces the history of `main`, and deletes the old one as a host does. */
  forcePush(): Promise<void>;
  remove(): Promise<void>;
}

/** The refs of a repository, without HEAD. */
export async function refsOf(path: string): Promise<string[]> {
  return (await git(path, 'for-each-ref', '--format=%(objectname) %(refname)')).split('\n').sort();
}

/** One for each test. */
export function useVersionedApp(database: TestDatabase): VersionedApp {
  let first: Awaited<ReturnType<typeof createFirst>>;
  let world: VersionedApp;
  beforeAll(async () => {
    first = await createFirst();
  });
  afterAll(() => first.remove());
  beforeEach(async () => {
    world = await createVersionedApp(database, first.app);
  });
  afterEach(() => world.remove());
  return latest(() => world);
}

/** The repository of which each test gets a copy. */
async function createFirst() {
  const { path, remove } = await temporaryFolder();
  const app = await createRepository(path);
  // Large enough that a few increments do not make a new full bundle due.
  await app.commit({ 'a.txt': 'one', noise: randomBytes(20_000).toString('hex') }, 'one');
  await app.commit({ 'a.txt': 'two' }, 'two');
  await app.git('branch', 'topic');
  return { app, remove };
}

async function createVersionedApp(
  database: TestDatabase,
  first: TestRepository,
): Promise<VersionedApp> {
  const { path: folder, remove } = await temporaryFolder();
  const archives = join(folder, 'archives');
  const app = await copyRepository(first, join(folder, 'app'));

  const readNote = async () => {
    const note = parseNote(await readFile(join(archives, 'local__app.bundle.json'), 'utf8'));
    if (note === null) throw new Error('there is no valid note');
    return note;
  };
  const refsOfVersion = async (version: number) => {
    const path = join(archives, 'local__app.versions', `${version}.json`);
    const refs = parseManifest(await readFile(path, 'utf8'))?.refs ?? {};
    return Object.entries(refs)
      .filter(([name]) => name !== 'HEAD')
      .map(([name, id]) => `${id} ${name}`)
      .sort();
  };
  return {
    ...{ folder, archives, app, readNote, refsOfVersion, remove },
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
      await git(archives, 'clone', '--quiet', '--mirror', 'local__app.bundle', mirror);
      for (const { name } of increments.slice(0, (entry?.files ?? 1) - 1)) {
        await git(mirror, 'fetch', '--quiet', '--prune', join(archives, name), '+refs/*:refs/*');
      }
      await git(mirror, 'fsck', '--full', '--strict');
      for (const ref of await refsOf(mirror)) {
        await git(mirror, 'update-ref', '-d', ref.split(' ')[1] ?? '');
      }
      for (const ref of await refsOfVersion(version)) {
        const [id = '', name = ''] = ref.split(' ');
        await git(mirror, 'update-ref', name, id);
      }
      await git(mirror, 'rev-list', '--objects', '--all', '--quiet');
      return refsOf(mirror);
    },
    async forcePush() {
      await app.git('checkout', '--quiet', '--orphan', 'fresh');
      await app.git('rm', '-rq', '--cached', '.');
      await app.commit({ 'a.txt': 'rewritten' }, 'rewritten');
      await app.git('branch', '--force', 'main');
      await app.git('checkout', '--quiet', 'main');
      await app.git('branch', '--delete', 'fresh');
      await app.git('reflog', 'expire', '--expire=now', '--all');
      await app.git('gc', '--quiet', '--prune=now');
    },
  };
}
