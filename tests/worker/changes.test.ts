import { readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, listRefs, type TestRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
const archives = join(folder, 'archives');
const archive = join(archives, 'local__app.bundle');
let app: TestRepository;

beforeEach(async () => {
  app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'first' });
  await app.commit({ 'a.txt': 'second' });
  await app.git('branch', 'topic');
  await app.git('tag', '--annotate', '--message', 'one', 'v1');
});

const backUp = () =>
  callWorker({ databaseUrl: database.url, archives, args: ['run', '--source', app.path] });
const countResults = async () => (await rowsOf(database.db, 'SELECT 1 FROM backup_results')).length;

describe('a repository whose refs match its archive', () => {
  it('is skipped: it is counted and logged, without a result or a change of its archive', async () => {
    await backUp();
    const [before, results] = [await readFile(archive), await countResults()];

    const { code, stdout, stderr } = await backUp();

    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('1 repository, 0 backed up, 1 unchanged, 0 failed'),
    });
    expect(stderr).toContain('local/app: unchanged, skipped\n');
    expect(await countResults()).toBe(results);
    expect(await readFile(archive)).toEqual(before);
    const [run] = await rowsOf(
      database.db,
      'SELECT successful, failed, skipped FROM backup_runs ORDER BY id DESC LIMIT 1',
    );
    expect(run).toEqual({ successful: 0, failed: 0, skipped: 1 });
  });

  it('still counts in the figures of the run', async () => {
    const figures = `SELECT head_commit, total_commits, branch_count, tag_count, tracked_files,
      total_blob_size_bytes, largest_blob_path, archive_count, total_archive_size_bytes
      FROM analytics_snapshots ORDER BY id DESC LIMIT 1`;
    await backUp();
    const [first] = await rowsOf(database.db, figures);
    await backUp();
    expect(first).toMatchObject({ total_commits: 2, branch_count: 2, archive_count: 1 });
    expect(await rowsOf(database.db, figures)).toEqual([first]);
  });
});

/** The refs of the archive, without kept refs. */
async function listSourceRefs(): Promise<string[]> {
  return (await listRefs(archive)).filter((line) => !line.includes('\trefs/kept/'));
}

async function damageInPlace(): Promise<void> {
  const { mtimeMs } = await stat(archive);
  const bytes = await readFile(archive);
  bytes.fill(0, bytes.length - 40);
  await writeFile(archive, bytes);
  // As if it happened later: a coarse file system may give both the same time.
  await utimes(archive, new Date(), new Date(mtimeMs + 5_000));
}

describe('a repository is backed up again when', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['a commit was added', () => app.commit({ 'a.txt': 'third' })],
    ['a branch was deleted', () => app.git('branch', '--delete', 'topic')],
    ['a branch was moved back', () => app.git('update-ref', 'refs/heads/topic', 'main~1')],
    ['a branch was added at a known commit', () => app.git('branch', 'another')],
    ['a tag was moved', () => app.git('tag', '--force', 'v1', 'main~1')],
    ['HEAD names another branch at the same commit', () => app.git('checkout', '-q', 'topic')],
    ['HEAD was detached', () => app.git('checkout', '-q', '--detach', 'main~1')],
  ])('%s', async (_, change) => {
    await backUp();
    await change();
    expect((await backUp()).stdout).toContain('1 backed up, 0 unchanged');
    expect(await listSourceRefs()).toEqual(await listRefs(app.path));
    expect((await backUp()).stdout).toContain('0 backed up, 1 unchanged');
  });

  it.each<[string, () => Promise<unknown>]>([
    ['its archive is missing', () => rm(archive)],
    ['its archive was cut short', () => truncate(archive, 40)],
    [
      'its archive was replaced by a file of the same size',
      async () => writeFile(archive, Buffer.alloc((await readFile(archive)).length)),
    ],
    ['its archive was damaged in place behind its header', damageInPlace],
    ['the note beside its archive is missing', () => rm(`${archive}.json`)],
    ['the note beside its archive is damaged', () => writeFile(`${archive}.json`, '{"version":1')],
    [
      'its archive was never recorded',
      () => database.db.query({ text: 'DELETE FROM worker_repo_state' }),
    ],
    [
      'the recorded archive is another one',
      () => database.db.query({ text: `UPDATE worker_repo_state SET archive_sha256 = 'other'` }),
    ],
  ])('%s', async (_, damage) => {
    await backUp();
    await damage();
    expect((await backUp()).stdout).toContain('1 backed up, 0 unchanged');
    expect(await listRefs(archive)).toEqual(await listRefs(app.path));
    expect((await backUp()).stdout).toContain('0 backed up, 1 unchanged');
  });
});

it('a repository whose only commits are at a detached HEAD is archived', async () => {
  await app.git('checkout', '-q', '--detach');
  for (const ref of ['refs/heads/main', 'refs/heads/topic', 'refs/tags/v1']) {
    await app.git('update-ref', '-d', ref);
  }
  expect((await backUp()).stdout).toContain('1 backed up');
  expect(await listSourceRefs()).toEqual([expect.stringMatching(/\tHEAD$/)]);
});

it('a repository that lost all its refs fails and keeps its archive', async () => {
  await backUp();
  const before = await readFile(archive);
  for (const ref of ['refs/heads/main', 'refs/heads/topic', 'refs/tags/v1']) {
    await app.git('update-ref', '-d', ref);
  }
  const { code, stdout, stderr } = await backUp();
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('1 failed') });
  expect(stderr).toContain('the repository is empty now, and was not before');
  expect(stdout).toContain('Failed, emptied at the source, the archive is kept: ');
  expect(await readFile(archive)).toEqual(before);
  const faults = 'SELECT fault FROM backup_results ORDER BY id DESC LIMIT 1';
  expect(await rowsOf(database.db, faults)).toEqual([{ fault: 'emptied' }]);
});

it('a run that archived nothing reports an empty repository', async () => {
  for (const ref of ['refs/heads/main', 'refs/heads/topic', 'refs/tags/v1']) {
    await app.git('update-ref', '-d', ref);
  }
  await backUp();
  const runs =
    'SELECT status, successful, failed, error_message FROM backup_runs ORDER BY id DESC LIMIT 1';
  expect(await rowsOf(database.db, runs)).toEqual([
    {
      status: 'completed',
      successful: 1,
      failed: 0,
      error_message: '1 repository empty, nothing to archive',
    },
  ]);
  const logs = `SELECT message FROM execution_logs
    WHERE run_id = (SELECT max(id) FROM backup_runs) AND repository IS NULL ORDER BY id DESC LIMIT 1`;
  expect(await rowsOf(database.db, logs)).toEqual([
    {
      message: expect.stringMatching(/^run \d+ completed: 1 repository empty, nothing to archive$/),
    },
  ]);
});
