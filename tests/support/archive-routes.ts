import { afterAll, beforeAll, expect } from 'vitest';
import { createServedArchives } from '../../lib/backups/archives/served-archives.ts';
import { type ArchiveFolder, createArchiveFolder } from './archives.ts';
import { type Client, createClient } from './client.ts';
import { createPostgres, type TestDatabase } from './databases.ts';
import { callWorker } from './worker.ts';

/** Text in a file of the archive that looks like a secret. */
export const SECRET = 'ghp_0123456789abcdefghijABCDEFGHIJ456789';

/** The content of a file of the archive that a browser would run. */
export const SCRIPT = '<script>alert(1)</script>';

/** The path of an archive's route. */
export const at = (rest = '', repository = 'local/App') =>
  `/api/repos/${repository}/archive${rest}`;

/** Gives the file the archive routes, over a folder with an archive that the worker made of local/App. */
export function useArchiveRoutes() {
  let database: TestDatabase;
  let folder: ArchiveFolder;
  let client: Client;
  let commit: string;

  beforeAll(async () => {
    database = await createPostgres();
    folder = await createArchiveFolder();
    client = createClient({
      db: database.db,
      environment: { BACKUP_ARCHIVE_PATH: folder.root, PATH: process.env.PATH },
      archives: createServedArchives,
    });
    const app = await folder.repository('App');
    commit = await app.commit({
      'README.md': 'hello\n',
      'src/page.html': SCRIPT,
      'src/token.txt': SECRET,
      'src/näme "x".txt': 'odd',
      'large.bin': 'x'.repeat(10 * 2 ** 20 + 1),
    });
    await app.git('tag', 'v1');
    const args = ['run', '--source', app.path];
    const { code } = await callWorker({ databaseUrl: database.url, archives: folder.root, args });
    expect(code).toBe(0);
  });
  afterAll(async () => {
    await database.close();
    await folder.remove();
  });

  return {
    get db() {
      return database.db;
    },
    get folder() {
      return folder;
    },
    get client() {
      return client;
    },
    /** The commit of main and of the tag v1. */
    get commit() {
      return commit;
    },
    verify: (repository?: string) => client.post(at('/verify', repository), undefined),
    /** The archive that the worker made. */
    downloaded: async () => (await client.get(at('/bundle'))).bytes,
  };
}
