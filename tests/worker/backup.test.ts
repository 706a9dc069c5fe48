import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEmbedded, createNeon, createPostgres } from '../support/databases.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, git, listRefs } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const folder = useTemporaryFolder();
const archives = join(folder, 'archives');

describe.each([
  ['a real Postgres', createPostgres],
  ['the embedded database', createEmbedded],
])('a run against %s', (_, create) => {
  const database = useDatabase(create);

  it('records the run, its results, archives, logs and figures', async () => {
    const app = await createRepository(join(folder, 'App'));
    await app.commit({ 'a.txt': '12345', 'dir/b.txt': '123' }, 'first', '2026-01-01T00:00:00Z');
    const head = await app.commit({ 'a.txt': '1234567' }, 'second\n\nbody', '2026-01-03T00:00:00Z');
    await app.git('tag', 'v1');
    await createRepository(join(folder, 'nothing'));

    const { code, stdout } = await callWorker({
      databaseUrl: database.url,
      archives,
      // So that results and logs are in the order of the sources.
      env: { BACKUP_CONCURRENCY: '1' },
      args: [
        'run',
        '--source',
        app.path,
        '--source',
        join(folder, 'nothing'),
        '--source',
        join(folder, 'gone'),
      ],
    });

    const archive = await readFile(join(archives, 'local__app.bundle'));
    const sha256 = createHash('sha256').update(archive).digest('hex');
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        /^Run 1 completed: 2 repositories, 1 backed up, 0 unchanged, 1 empty, 0 failed, 1 source not read, in [\d.]+ s\.\nSource not read, not found, or access lost: \/\S+\/gone\n {2}check the path or address in --source, .*\n$/,
      ),
    });
    expect(
      await rowsOf(
        database.db,
        `SELECT status, total_repos, successful, failed, skipped, error_message, exclusive_key,
           completed_at >= started_at AS ended, heartbeat_at IS NOT NULL AS beat, duration_ms > 0 AS lasted
         FROM backup_runs`,
      ),
    ).toEqual([
      {
        status: 'completed',
        total_repos: 2,
        successful: 2,
        failed: 0,
        skipped: 0,
        error_message: `1 source could not be read: ${join(folder, 'gone')}`,
        exclusive_key: null,
        ended: true,
        beat: true,
        lasted: true,
      },
    ]);
    const results = 'SELECT repo_full_name, status, commit_hash, archive_size_bytes, error_message';
    expect(await rowsOf(database.db, `${results} FROM backup_results ORDER BY id`)).toEqual([
      {
        repo_full_name: 'local/App',
        status: 'completed',
        commit_hash: head,
        archive_size_bytes: archive.length,
        error_message: '',
      },
      {
        repo_full_name: 'local/nothing',
        status: 'empty',
        commit_hash: '',
        archive_size_bytes: 0,
        error_message: '',
      },
    ]);
    const state = 'SELECT repo_full_name, archive_key, archive_sha256, last_commit_hash';
    expect(await rowsOf(database.db, `${state} FROM worker_repo_state`)).toEqual([
      {
        repo_full_name: 'local/App',
        archive_key: 'local__app.bundle',
        archive_sha256: sha256,
        last_commit_hash: head,
      },
    ]);
    const [snapshot] = await rowsOf(database.db, 'SELECT * FROM analytics_snapshots');
    expect(snapshot).toMatchObject({
      run_id: 1,
      head_commit: head,
      head_commit_message: 'second',
      head_commit_at: expect.stringMatching(/^2026-01-03T00:00:00/),
      total_commits: 2,
      branch_count: 1,
      tag_count: 1,
      tracked_files: 2,
      total_blob_size_bytes: 10,
      avg_blob_size_bytes: 5,
      largest_blob_path: 'local/App:a.txt',
      largest_blob_size_bytes: 7,
      archive_count: 1,
      total_archive_size_bytes: archive.length,
      avg_archive_size_bytes: archive.length,
      largest_archive_path: 'local__app.bundle',
      largest_archive_size_bytes: archive.length,
    });
    expect(
      await rowsOf(database.db, 'SELECT run_id, level, repository FROM execution_logs ORDER BY id'),
    ).toEqual([
      { run_id: 1, level: 'info', repository: null },
      { run_id: 1, level: 'info', repository: 'local/App' },
      { run_id: 1, level: 'info', repository: 'local/App' },
      { run_id: 1, level: 'info', repository: 'local/nothing' },
      { run_id: 1, level: 'info', repository: 'local/nothing' },
      { run_id: 1, level: 'info', repository: 'local/gone' },
      { run_id: 1, level: 'error', repository: null },
      { run_id: 1, level: 'info', repository: null },
    ]);
  });
});

it('a run works over Neon, whose driver sends each statement separately', async () => {
  const database = await createNeon();
  const app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
  const call = { databaseUrl: database.url, archives, args: ['run', '--source', app.path] };
  try {
    const { code, stdout } = await callWorker({ ...call, wrap: () => database.db });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 backed up') });
  } finally {
    await database.close();
  }
});

describe('an archive', () => {
  const database = useDatabase();

  const backUp = (...sources: string[]) =>
    callWorker({
      databaseUrl: database.url,
      archives,
      args: ['run', ...sources.flatMap((source) => ['--source', source])],
    });

  it('restores every branch, tag and HEAD', async () => {
    const app = await createRepository(join(folder, 'app'));
    await app.commit({ 'a.txt': 'a' });
    // A second branch at HEAD's commit, first by name: HEAD must still be `release`.
    await app.git('branch', 'before');
    await app.git('checkout', '--quiet', '-b', 'release');
    await app.git('tag', '--annotate', '--message', 'one', 'v1');
    await app.git('branch', '--delete', 'main');
    await app.git('update-ref', 'refs/pull/1/head', 'HEAD');
    await app.git('update-ref', 'refs/heads/-dash', 'HEAD');
    await app.git('update-ref', 'refs/heads/größe', 'HEAD');

    expect((await backUp(app.path)).code).toBe(0);

    const bundle = join(archives, 'local__app.bundle');
    expect(await listRefs(bundle)).toEqual(await listRefs(app.path));
    await git(folder, 'clone', '--quiet', bundle, 'restored');
    const restored = join(folder, 'restored');
    expect(await git(restored, 'symbolic-ref', 'HEAD')).toBe('refs/heads/release');
    expect(await readFile(join(restored, 'a.txt'), 'utf8')).toBe('a');
    await git(restored, 'fsck', '--full', '--strict');
  });

  it('holds a commit that only a detached HEAD points to', async () => {
    const app = await createRepository(join(folder, 'app'));
    await app.commit({ 'a.txt': 'a' });
    await app.git('checkout', '--quiet', '--detach');
    const head = await app.commit({ 'a.txt': 'b' });
    expect((await backUp(app.path)).code).toBe(0);
    await git(folder, 'clone', '--quiet', join(archives, 'local__app.bundle'), 'restored');
    expect(await git(join(folder, 'restored'), 'rev-parse', 'HEAD')).toBe(head);
  });

  it('contains the stored objects, not their replacements', async () => {
    const app = await createRepository(join(folder, 'app'));
    const first = await app.commit({ 'a.txt': 'a' });
    const second = await app.commit({ 'b.txt': 'b' });
    await app.git('replace', '--graft', second);
    expect((await backUp(app.path)).code).toBe(0);
    await git(folder, 'clone', '--quiet', '--mirror', join(archives, 'local__app.bundle'), 'back');
    const restored = join(folder, 'back');
    expect(await git(restored, '--no-replace-objects', 'rev-list', second)).toBe(
      `${second}\n${first}`,
    );
  });

  it('is only readable by its owner, and nothing else is left', async () => {
    const app = await createRepository(join(folder, 'app'));
    await app.commit({ 'a.txt': 'a' });
    await backUp(app.path);
    expect((await stat(archives)).mode & 0o777).toBe(0o700);
    expect((await stat(join(archives, 'local__app.bundle'))).mode & 0o777).toBe(0o600);
    expect((await readdir(archives)).sort()).toEqual([
      'local__app.bundle',
      'local__app.bundle.json',
      'local__app.versions',
    ]);
    expect((await stat(join(archives, 'local__app.versions'))).mode & 0o777).toBe(0o700);
    expect((await stat(`${archives}-data/mirrors/local__app.git`)).isDirectory()).toBe(true);
  });

  it.each([
    ['with space', 'local/with space', 'local__with space.bundle'],
    ['-dash', 'local/-dash', 'local__-dash.bundle'],
    ['Größe-仓库', 'local/Größe-仓库', 'local__größe-仓库.bundle'],
    ['bare.git', 'local/bare', 'local__bare.bundle'],
    ['a:b', 'local/a:b', 'local__a:b.bundle'],
  ])('is named after its folder: %s becomes %s', async (name, fullName, key) => {
    const app = await createRepository(join(folder, 'sources', name));
    await app.commit({ 'a.txt': 'a' });
    const { code, stderr } = await backUp(join(folder, 'sources', name));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`${fullName}: `) });
    expect(await listRefs(join(archives, key))).toEqual(await listRefs(app.path));
  });

  it("is written without this machine's hooks or templates", async () => {
    const app = await createRepository(join(folder, 'app'));
    await app.commit({ 'a.txt': 'a' });
    const hooks = join(folder, 'home', 'template', 'hooks');
    await mkdir(hooks, { recursive: true });
    const hook = `#!/bin/sh\ntouch ${join(folder, 'hooked')}\n`;
    for (const name of ['post-checkout', 'reference-transaction']) {
      await writeFile(join(hooks, name), hook, { mode: 0o755 });
    }
    await writeFile(
      join(folder, 'home', '.gitconfig'),
      `[init]\ntemplateDir = ${join(folder, 'home', 'template')}\n[core]\nhooksPath = ${hooks}\n`,
    );
    const env = { HOME: join(folder, 'home'), GIT_DIR: join(folder, 'elsewhere') };
    const args = ['run', '--source', app.path];
    expect((await callWorker({ databaseUrl: database.url, archives, args, env })).code).toBe(0);
    expect(await readdir(folder)).not.toContain('hooked');
  });
});
