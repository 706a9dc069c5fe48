import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { type ArchiveRecord, readArchiveOnDisk } from '../../lib/worker/archive/archive.ts';
import { publishBundle, settleNote } from '../../lib/worker/archive/publish.ts';
import { type ArchiveFolder, anyCall, createArchiveFolder, sha256 } from '../support/archives.ts';
import type { TestRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

// An archive, its note and the database's record are three writes. The archive can be verified between any two of
// them, even if the worker was killed there.

const database = useDatabase();
let archives: ArchiveFolder;
let app: TestRepository;
const key = 'local__app.bundle';

beforeEach(async () => {
  archives = await createArchiveFolder();
  app = await archives.repository('app');
  await app.commit({ 'a.txt': 'first' });
});
afterEach(() => archives.remove());

const backUp = (wrap?: (db: Database) => Database) => {
  const args = ['run', '--source', app.path];
  return callWorker({
    databaseUrl: database.url,
    archives: archives.root,
    args,
    ...(wrap && { wrap }),
  });
};
const verify = () => archives.reader().verify('local/app', anyCall);
const hashOfArchive = async () => sha256(await readFile(join(archives.root, key)));
const readNote = async (): Promise<ArchiveRecord> =>
  JSON.parse(await readFile(join(archives.root, `${key}.json`), 'utf8'));

it('an archive can be checked with its note alone', async () => {
  await backUp();
  expect(await verify()).toMatchObject({
    integrity_status: 'VALID_UNCOMPROMISED',
    expected_sha256: await hashOfArchive(),
    expected_by: 'note',
  });
  await app.commit({ 'a.txt': 'of somebody else' });
  await archives.bundle(key, app);
  await expect(verify()).rejects.toThrow(/^CHECKSUM_MISMATCH/);
});

describe('a killed worker', () => {
  /** A new archive of the repository, and its note. */
  async function prepare(name: string): Promise<{ path: string; record: ArchiveRecord }> {
    await app.commit({ 'a.txt': name });
    const bytes = await archives.bundle(`.${name}.bundle`, app);
    const path = join(archives.root, `.${name}.bundle`);
    const { size, mtimeMs } = await stat(path);
    const record = {
      ...(await readNote()),
      archive_sha256: sha256(bytes),
      archive_size_bytes: size,
      archive_modified_ms: Math.floor(mtimeMs),
    };
    return { path, record };
  }
  const place = () => ({
    folder: archives.root,
    key,
    scratch: archives.root,
    checkLease: () => Promise.resolve(),
  });
  const publish = async (
    path: string,
    record: ArchiveRecord,
    recordedSha256: string | null = null,
  ) => {
    const before = await readArchiveOnDisk(archives.root, key);
    await publishBundle(path, place(), { record, before, recordedSha256 });
  };
  /** As if it were killed after writing the note: the archive is missing from where it is moved from. */
  const publishNoteAlone = async (name: string) => {
    const { record } = await prepare(name);
    const missing = join(archives.root, 'missing');
    const publishing = publish(missing, record);
    await expect(publishing).rejects.toMatchObject({ code: 'ENOENT' });
  };

  beforeEach(async () => {
    await backUp();
  });

  it('leaves the previous archive valid if it had written only the note', async () => {
    const before = await hashOfArchive();
    await publishNoteAlone('second');
    expect(await verify()).toMatchObject({ expected_sha256: before, expected_by: 'note' });
    await publishNoteAlone('third');
    expect(await verify()).toMatchObject({ expected_sha256: before, expected_by: 'note' });
    await archives.write(key, 'something else');
    await expect(verify()).rejects.toThrow(/^CHECKSUM_MISMATCH/);
  });

  it('leaves the new archive valid if it had published it', async () => {
    const { path, record } = await prepare('second');
    await publish(path, record);
    expect(await verify()).toMatchObject({ expected_sha256: record.archive_sha256 });
    await settleNote(place(), record);
    expect((await readNote()).replacing).toBeNull();
    expect(await verify()).toMatchObject({ expected_sha256: record.archive_sha256 });
  });

  it('leaves an archive without a note valid by its hash in the database', async () => {
    const before = await hashOfArchive();
    const { record } = await prepare('second');
    await writeFile(join(archives.root, `${key}.json`), '{"version":2');
    const missing = join(archives.root, 'missing');
    await expect(publish(missing, record, before)).rejects.toThrow('ENOENT');
    expect(await verify()).toMatchObject({ expected_sha256: before, expected_by: 'note' });
  });

  it('leaves the archive recorded without a result, and the next run backs up again', async () => {
    await app.commit({ 'a.txt': 'second' });
    const losing = (db: Database): Database => ({
      ...db,
      query: async (statement, values) => {
        if (statement.name === 'record_result') throw new Error('killed');
        return db.query(statement, values);
      },
    });
    expect((await backUp(losing)).code).toBe(1);
    const state = 'SELECT archive_sha256, last_commit_hash FROM worker_repo_state';
    const archive_sha256 = await hashOfArchive();
    expect(await rowsOf(database.db, state)).toEqual([{ archive_sha256, last_commit_hash: null }]);
    expect(await verify()).toMatchObject({ expected_sha256: archive_sha256 });

    expect((await backUp()).stdout).toContain('1 backed up, 0 unchanged');
    const last_commit_hash = await app.git('rev-parse', 'main');
    expect(await rowsOf(database.db, state)).toMatchObject([{ last_commit_hash }]);
    expect((await backUp()).stdout).toContain('0 backed up, 1 unchanged');
  });
});
