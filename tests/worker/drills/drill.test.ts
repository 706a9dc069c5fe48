import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestRefs } from '../../../lib/archives/base/manifest.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type Database, databaseUnavailable } from '../../../lib/database/database.ts';
import { checkLedger } from '../../../lib/drills/check-ledger.ts';
import { findClosedPort } from '../../support/down-database.ts';
import { useEmptyLedger } from '../../support/drills.ts';
import { copyRepository, plantBomb, plantFolders, plantLongPath } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { plantStuckFolder } from '../../support/stuck-folder.ts';
import { useVersionedApp, withIncrements } from '../../support/versioned-app.ts';
import { callWorker, rowsOf, type WorkerCall } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
useEmptyLedger(database);

interface DrillRow {
  repository_name: string;
  version: number | null;
  storage: string;
  duration_ms: number;
  bytes: number;
  outcome: string;
  reason: string | null;
  evidence: Record<string, unknown>;
}
const drills = () =>
  rowsOf<DrillRow>(database.db, 'SELECT * FROM restore_drills ORDER BY restore_drills.id');

const drill = (args: string[] = ['--all'], more: Partial<WorkerCall> = {}) =>
  callWorker({
    databaseUrl: database.url,
    archives: world.archives,
    args: ['drill', ...args],
    env: { DRILL_BUDGET_MINUTES: '5' },
    ...more,
  });

/** What drills have left in DATA_DIR. */
const leftovers = async () => (await readdir(join(`${world.archives}-data`, 'drills'))).sort();

async function refs(): Promise<Map<string, string>> {
  const lines = (await world.app.git('show-ref', '--head')).split('\n');
  return new Map(lines.map((line) => [line.slice(41), line.slice(0, 40)]));
}

/** A clock on which short waits pass at once, and long ones never end. */
function patientClock(ahead = 0): Clock {
  let passed = ahead;
  return {
    now: () => Date.now() + passed,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        if (ms >= 10_000) return;
        passed += ms;
        resolve();
      }),
  };
}

/** Replaces bytes in the middle of a file. */
async function damage(path: string): Promise<void> {
  const bytes = await readFile(path);
  const middle = Math.floor(bytes.length / 2);
  bytes.fill(0x5a, middle, middle + 40);
  await writeFile(path, bytes);
}

describe('a restore drill', () => {
  it('restores from the archive folder, and records what that proves', async () => {
    await world.backUpFirst(withIncrements);
    await world.app.commit({ 'b.txt': 'three' });
    await world.backUp(withIncrements);
    const { code, stdout } = await drill();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^proven: local\/app, version 2 from folder \(2 refs, \d+ objects, 3 files; .* in .* s\)\nDrilled 1 repository: 1 proven, 0 failed, 0 incomplete\.\n$/,
      ),
    });
    const note = await world.readNote();
    const size = (note.archive_size_bytes ?? 0) + (note.increments[0]?.size_bytes ?? 0);
    expect(await drills()).toMatchObject([
      {
        ...{ repository_name: 'local/app', version: 2, storage: 'folder', outcome: 'proven' },
        ...{ reason: null, bytes: size },
        evidence: {
          version: '0.1.0',
          git_version: expect.stringMatching(/^\d+\.\d+/),
          refs: 2,
          refs_sha256: digestRefs(await refs()),
          refs_recorded_in: 'database',
          manifest_sha256: note.versions.at(-1)?.manifest_sha256,
          files: 2,
          files_recorded: true,
          objects: Number(
            (await world.app.git('rev-list', '--all', '--objects', '--count')).trim(),
          ),
          defects: 0,
          head: await world.app.git('rev-parse', 'HEAD'),
          tree_sha: await world.app.git('rev-parse', 'HEAD^{tree}'),
          tree_files: 3,
        },
      },
    ]);
    expect(await checkLedger(database.db)).toMatchObject({ rows: 1, broken: null });
    expect(await leftovers()).toEqual([]);
  });

  it('fails when the archive is damaged, with exit code 1 and a line in the log', async () => {
    await world.backUpFirst();
    await damage(join(world.archives, 'local__app.bundle'));
    const { code, stdout } = await drill(['--repo', 'Local/App']);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^FAILED: local\/app, version 1 from folder: CHECKSUM_MISMATCH: local__app/,
    );
    expect(await drills()).toMatchObject([
      { version: 1, outcome: 'failed', reason: expect.stringContaining('CHECKSUM_MISMATCH') },
    ]);
    expect(
      await rowsOf(
        database.db,
        `SELECT level, message, repository FROM execution_logs WHERE message LIKE 'a restore drill%'`,
      ),
    ).toEqual([
      {
        ...{ level: 'error', repository: 'local/app' },
        message: expect.stringContaining('a restore drill failed (folder): CHECKSUM_MISMATCH'),
      },
    ]);
    expect(await leftovers()).toEqual([]);
  });

  it('fails when the version differs from the recorded one', async () => {
    await world.backUpFirst();
    await database.db.query({
      text: "UPDATE archive_versions SET manifest_sha256 = repeat('a', 64)",
    });
    expect((await drill()).stdout).toContain(
      'FAILED: local/app, version 1 from folder: CORRUPT_ARCHIVE: version 1 is not the one that the database has recorded',
    );
  });

  it('fails when the refs differ from the recorded ones', async () => {
    await world.backUpFirst();
    await database.db.query({ text: "UPDATE archive_versions SET refs_sha256 = repeat('a', 64)" });
    expect((await drill()).stdout).toContain(
      'the refs of version 1 are not those that were recorded',
    );
  });

  it('fails when the archive is missing, and again only after a run found the repository good', async () => {
    await world.backUpFirst();
    await rm(join(world.archives, 'local__app.bundle'));
    expect(await drill([])).toMatchObject({ code: 1, stdout: expect.stringContaining('FAILED') });
    expect(await drills()).toMatchObject([{ outcome: 'failed', evidence: { missing: true } }]);
    await database.db.query({
      text: "UPDATE worker_repo_state SET checked_at = now() - interval '1 day', updated_at = now() - interval '1 day'",
    });
    const later = patientClock(3 * 86_400_000);
    expect(await drill([], { clock: later })).toMatchObject({
      stdout: 'No restore drill was done.\n',
    });
    await database.db.query({
      text: "UPDATE worker_repo_state SET checked_at = now() + interval '1 day'",
    });
    expect((await drill([], { clock: later })).stdout).toContain('FAILED');
  });

  it('rejects an unknown repository and records nothing', async () => {
    await world.backUpFirst();
    await expect(drill(['--repo', 'local/other'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await drills()).toEqual([]);
  });

  it('runs nothing from a hostile repository, and reads its files back as they are stored', async () => {
    const { app } = world;
    await app.commit({
      '.gitmodules':
        '[submodule "x"]\n\tpath = x\n\turl = ext::touch /tmp/owned\n\tupdate = !touch /tmp/owned\n',
      'dos.txt': '$Id: kept$\r\nas it is\r\n',
      'mixed.bin': 'a\r\nb\n',
      attributes:
        '* filter=evil text eol=crlf ident working-tree-encoding=UTF-16\n[attr]binary text eol=crlf\n*.bin binary\n',
    });
    const add = (mode: string, id: string, path: string) =>
      app.git('update-index', '--add', '--cacheinfo', `${mode},${id},${path}`);
    // Added without git's conversions, which would change the files.
    await add('100644', await app.git('rev-parse', 'HEAD:attributes'), '.gitattributes');
    await add('160000', await app.git('rev-parse', 'HEAD'), 'x');
    await add('120000', await app.git('rev-parse', 'HEAD:dos.txt'), 'outside');
    await app.git('commit', '--quiet', '--message', 'links');
    await world.backUp();
    const { code, stdout } = await drill();
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^proven/) });
    expect(await drills()).toMatchObject([
      { evidence: { tree_sha: await app.git('rev-parse', 'HEAD^{tree}') } },
    ]);
  });

  it('is incomplete when the default branch has too many files', async () => {
    await plantBomb(world.app);
    await world.backUp();
    const { code, stdout } = await drill();
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^incomplete: .*default branch/),
    });
    expect(await drills()).toMatchObject([
      { outcome: 'incomplete', evidence: { refs: 2, refs_recorded_in: 'database' } },
    ]);
    expect(await leftovers()).toEqual([]);
  });

  it('is incomplete when a few files have too many folders', async () => {
    await plantFolders(world.app);
    await world.backUp();
    expect(await drill()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^incomplete: .* has more than 1000000 files and folders/),
    });
    expect(await leftovers()).toEqual([]);
  });

  it('is incomplete for a path that could not be removed again, and leaves nothing', async () => {
    await plantLongPath(world.app);
    await world.backUp();
    expect(await drill()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^incomplete: .* has a path that is too long/),
    });
    expect(await leftovers()).toEqual([]);
  });

  it('is proven for a repository whose HEAD has no commit', async () => {
    await world.app.git('symbolic-ref', 'HEAD', 'refs/heads/unborn');
    await world.backUp();
    expect((await drill()).stdout).toMatch(/^proven/);
    const [row] = await drills();
    expect(row?.evidence).not.toHaveProperty('tree_sha');
    expect(row?.evidence).toMatchObject({ refs: 2 });
  });

  it('removes what a killed drill left behind', async () => {
    await world.backUpFirst();
    await drill();
    await mkdir(join(`${world.archives}-data`, 'drills', `.scratch-${hostname()}-999999-AAAAAA`));
    await drill();
    expect(await leftovers()).toEqual([]);
  });

  it('continues despite leftovers that cannot be removed, and warns of them once', async () => {
    await world.backUpFirst();
    const folder = join(`${world.archives}-data`, 'drills');
    const names = ['AAAAAA', 'BBBBBB'].map((end) => `.scratch-${hostname()}-999999-${end}`);
    const [first, second] = await Promise.all(
      names.map((name) => plantStuckFolder(join(folder, name))),
    );
    try {
      const { code, stdout, stderr } = await drill();
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^proven/) });
      expect(stderr.match(/"level":"warn"/g)).toHaveLength(1);
      expect(stderr).toContain(
        '2 folders left by a killed process cannot be removed and must be removed by hand, first',
      );
      expect(stderr).toContain('ENAMETOOLONG');
      expect(await leftovers()).toEqual(names);
    } finally {
      await first?.remove();
      await second?.remove();
    }
  });

  it('ends at Ctrl-C without a record, and leaves nothing behind', async () => {
    await world.backUpFirst();
    const stop = new AbortController();
    const wrap = (db: Database): Database => ({
      ...db,
      query(statement, values, options) {
        if (statement.name === 'recorded_version_of_drill') stop.abort(new Error('stopped'));
        return db.query(statement, values, options);
      },
    });
    const { code } = await drill(['--all'], { signal: stop.signal, wrap });
    expect(code).toBe(1);
    expect(await drills()).toEqual([]);
    expect(await leftovers()).toEqual([]);
    expect(await rowsOf(database.db, 'SELECT * FROM restore_drill_claims')).toEqual([]);
  });
});

describe('a drill budget', () => {
  /** A clock whose first sleep, which is the budget, ends when a statement is about to be sent. */
  function endingAt(name: string) {
    let end: () => void = () => undefined;
    const clock = {
      now: () => Date.now(),
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          end = resolve;
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    };
    const ends: (() => void)[] = [];
    const first = {
      ...clock,
      sleep: (ms: number, signal?: AbortSignal) => {
        const slept = clock.sleep(ms, signal);
        ends.push(end);
        return slept;
      },
    };
    const wrap = (db: Database): Database => ({
      ...db,
      async query(statement, values, options) {
        if (statement.name === name) {
          ends[0]?.();
          await new Promise((resolve) => setImmediate(resolve));
        }
        return db.query(statement, values, options);
      },
    });
    return { clock: first, wrap };
  }

  it('leaves a drill that does not fit into it incomplete', async () => {
    await world.backUpFirst();
    const { code, stdout } = await drill(['--budget', '3'], endingAt('recorded_version_of_drill'));
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^incomplete: local\/app.* it did not fit into 3 minutes/),
    });
    expect(await drills()).toMatchObject([{ outcome: 'incomplete' }]);
    expect(await leftovers()).toEqual([]);
  });

  it('prevents further drills when it is used up', async () => {
    const other = await copyRepository(world.app, join(world.folder, 'other'));
    const sources = ['--source', world.app.path, '--source', other.path];
    const { archives } = world;
    await callWorker({ databaseUrl: database.url, archives, args: ['run', ...sources] });
    const { clock, wrap } = endingAt('record_drill');
    let claims = 0;
    const { code, stdout } = await drill(['--all', '--budget', '3'], {
      clock,
      wrap: (db) => ({
        ...db,
        query(statement, values, options) {
          if (statement.name === 'claim_drill') claims++;
          return wrap(db).query(statement, values, options);
        },
      }),
    });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^proven: local\/\w+, .*\nDrilled 1 repository: 1 proven, 0 failed, 0 incomplete\. The budget is used up; the remaining repositories come next time\.\n$/,
      ),
    });
    expect(claims).toBe(1);
    expect(await drills()).toMatchObject([{ outcome: 'proven' }]);
    expect(await leftovers()).toEqual([]);
  });

  it('must not be 0 without --budget, --repo or --all', async () => {
    await expect(drill([], { env: { DRILL_BUDGET_MINUTES: '0' } })).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    });
  });
});

describe('a drill without the database', () => {
  const away = async () => ({
    databaseUrl: `postgres://nobody@127.0.0.1:${await findClosedPort()}/none`,
  });

  it('is spooled, and recorded once by the next run', async () => {
    await world.backUpFirst();
    expect(await drill([], { ...(await away()) })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^proven: local\/app, version 1/),
    });
    expect(await drills()).toEqual([]);
    const spool = join(`${world.archives}-data`, 'spool');
    const [name = ''] = await readdir(spool);
    const text = await readFile(join(spool, name), 'utf8');
    expect((await world.backUp()).stderr).toContain('delivered 1 restore drill');
    const delivered = await drills();
    expect(delivered).toMatchObject([
      { outcome: 'proven', version: 1, evidence: { refs_recorded_in: 'manifest' } },
    ]);
    expect(await readdir(spool)).toEqual([]);
    // As if a worker was killed between recording and removing it.
    await writeFile(join(spool, name), text);
    await world.backUp();
    expect(await drills()).toEqual(delivered);
  });

  it('waits in the spool when the database becomes unreachable during it', async () => {
    await world.backUpFirst();
    const wrap = (db: Database): Database => ({
      ...db,
      query: (statement, values, options) =>
        statement.name === 'record_drill'
          ? Promise.reject(databaseUnavailable(new Error('gone')))
          : db.query(statement, values, options),
    });
    await drill(['--all'], { wrap, clock: patientClock() });
    expect(await drills()).toEqual([]);
    await world.backUp();
    expect(await drills()).toMatchObject([{ outcome: 'proven' }]);
  });

  it('stays in the spool if its file is damaged, which is reported', async () => {
    await world.backUpFirst();
    await drill([], { ...(await away()) });
    const spool = join(`${world.archives}-data`, 'spool');
    const [name = ''] = await readdir(spool);
    await writeFile(join(spool, name), '{"format": 1}');
    expect((await world.backUp()).stderr).toContain(`${name} cannot be delivered and is kept`);
    expect(await readdir(spool)).toEqual([name]);
    await rm(join(spool, name));
  });
});

it('signs what it has proved: every file of the archive, and the refs', async () => {
  await world.backUp(withIncrements);
  await world.app.commit({ 'b.txt': 'more' });
  await world.backUp(withIncrements);
  const env = { DRILL_BUDGET_MINUTES: '5', CREDENTIALS_ENCRYPTION_KEY: 'ab'.repeat(32) };
  expect((await drill(['--all'], { env })).code).toBe(0);
  const [made, ...others] = await rowsOf<{ statement: string }>(
    database.db,
    'SELECT statement FROM drill_statements',
  );
  expect(others).toEqual([]);
  const { subject, predicate } = JSON.parse(made?.statement ?? '');
  const note = await world.readNote();
  expect(subject.map(({ digest }: { digest: { sha256: string } }) => digest.sha256)).toEqual([
    note.archive_sha256,
    ...note.increments.map(({ sha256 }) => sha256),
  ]);
  expect(subject).toHaveLength(2);
  const found = await refs();
  expect(predicate).toMatchObject({
    ...{ repository: 'local/app', version: 2, outcome: 'proven', storage: 'folder' },
    refs: { count: found.size - 1, sha256: digestRefs(found), isComplete: true },
    head: { commit: found.get('HEAD') },
  });
  const listed = predicate.refs.listed as { name: string; id: string }[];
  expect(new Map(listed.map(({ name, id }) => [name, id]))).toEqual(found);
});
