import {
  appendFile,
  copyFile,
  mkdir,
  readdir,
  readFile,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { type Database, databaseUnavailable } from '../../../lib/database/database.ts';
import { STALE_RUN_MESSAGE, sweepStaleRuns } from '../../../lib/records/runs/stale-runs.ts';
import { deliverSpools } from '../../../lib/worker/record/deliver-spools.ts';
import { createSpool, listSpools } from '../../../lib/worker/record/spool-file.ts';
import { createTestClock } from '../../support/clock.ts';
import { silentLog } from '../../support/databases.ts';
import { findClosedPort } from '../../support/down-database.ts';
import { setUpTeamApp } from '../../support/team-app.ts';
import { rowsOf } from '../../support/worker.ts';

const team = setUpTeamApp();
const data = () => `${team.archives}-data`;
const deliver = (db: Database = team.database.db) => deliverSpools({ db, log: silentLog }, data());

/** Spools a run of a new commit, and returns the path of the file. */
async function spoolRun(): Promise<string> {
  await team.app.commit({ 'a.txt': `${Math.random()}` });
  const databaseUrl = `postgres://nobody@127.0.0.1:${await findClosedPort()}/nothing`;
  expect((await team.backUp({ databaseUrl })).code).toBe(0);
  const path = (await listSpools(data())).at(-1);
  if (path === undefined) throw new Error('nothing was spooled');
  return path;
}

/** Everything that a delivery writes. */
const stored = async () => {
  const tables = ['backup_runs', 'backup_results', 'execution_logs', 'archive_versions'];
  const others = ['archive_refs', 'analytics_snapshots', 'worker_repo_state'];
  const ignored = `- 'id' - 'heartbeat_at' - 'updated_at' - 'exclusive_key'`;
  const found: unknown[] = [];
  for (const table of [...tables, ...others]) {
    const select = `SELECT to_jsonb(t) ${ignored} AS row FROM ${table} AS t ORDER BY to_jsonb(t)::text`;
    found.push(await rowsOf(team.database.db, select));
  }
  return found;
};

it('a delivery interrupted at any statement can be repeated without a trace', async () => {
  const path = await spoolRun();
  const copy = join(team.folder, 'copy');
  await copyFile(path, copy);
  let interruptions = 0;
  for (;;) {
    let left = interruptions;
    const db: Database = {
      ...team.database.db,
      async query<Row>(...args: Parameters<Database['query']>) {
        if (left-- === 0) throw databaseUnavailable(new Error('lost'));
        return team.database.db.query<Row>(...args);
      },
    };
    if (!(await deliver(db)).isAway) break;
    interruptions++;
    // As a server does with a run whose delivery was not continued.
    await sweepStaleRuns(team.database.db, { now: Date.now() + 60_000, staleAfterMs: 1 });
  }
  expect(interruptions).toBeGreaterThan(5);
  const once = await stored();
  expect(await rowsOf(team.database.db, 'SELECT status, error_message FROM backup_runs')).toEqual([
    { status: 'completed', error_message: '' },
  ]);
  expect(await rowsOf(team.database.db, 'SELECT 1 FROM backup_results')).toHaveLength(1);
  // Killed between the delivery and the deletion of the file.
  await copyFile(copy, path);
  expect(await deliver()).toMatchObject({ isAway: false, last: { id: expect.any(Number) } });
  expect(await stored()).toEqual(once);
  expect(await listSpools(data())).toEqual([]);
});

it('the delivery of a run whose worker was killed says so, and drops a torn last line', async () => {
  const path = await spoolRun();
  const lines = (await readFile(path, 'utf8')).split('\n');
  const end = lines.findIndex((line) => line.startsWith('{"type":"end"'));
  const kept = `${lines.slice(0, end).join('\n')}\n`;
  await writeFile(path, `${kept}${lines[end]?.slice(0, 20)}`);
  expect((await deliver()).remarks).toEqual([
    { level: 'warn', text: `dropped the torn last line of ${basename(path)}` },
    { level: 'info', text: expect.stringMatching(/^delivered run \d+ with 1 result/) },
  ]);
  const select =
    'SELECT status, error_message, successful, exclusive_key IS NULL AS free FROM backup_runs';
  expect(await rowsOf(team.database.db, select)).toEqual([
    { status: 'failed', error_message: STALE_RUN_MESSAGE, successful: 1, free: false },
  ]);
});

it('a spool without a complete line delivers nothing', async () => {
  const path = await spoolRun();
  await truncate(path, 10);
  await deliver();
  expect(await listSpools(data())).toEqual([]);
  expect(await rowsOf(team.database.db, 'SELECT 1 FROM backup_runs')).toEqual([]);
});

it.each([
  ['no JSON', 'nonsense'],
  ['an unknown type', '{"type":"drop","at":"2026-01-01T00:00:00.000000Z"}'],
  ['an extra field', '{"type":"total","at":"2026-01-01T00:00:00.000000Z","totalRepos":1,"sql":""}'],
  [
    'a number that fits no column',
    '{"type":"total","at":"2026-01-01T00:00:00.000000Z","totalRepos":1e12}',
  ],
  ['a line after the end', ''],
])(
  'a delivery stops at %s, writes nothing, and keeps this spool and those after it',
  async (_, line) => {
    const path = await spoolRun();
    const later = await spoolRun();
    const text = await readFile(path, 'utf8');
    if (line === '') await appendFile(path, `${text.split('\n')[1]}\n`);
    else await writeFile(path, text.replace('\n', `\n${line}\n`));
    const { code, stdout, stderr } = await team.backUp();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Run 1 completed/),
    });
    expect(stderr).toMatch(
      new RegExp(
        `error: DATA_DIR/spool: ${basename(path)} cannot be delivered and is kept.*line \\d+:`,
      ),
    );
    expect(await listSpools(data())).toEqual([path, later]);
    expect(await rowsOf(team.database.db, 'SELECT id FROM backup_runs')).toEqual([{ id: 1 }]);
  },
);

it('a delivery ignores other files', async () => {
  await mkdir(join(data(), 'spool'), { recursive: true });
  await writeFile(join(data(), 'spool', 'README'), 'x');
  expect(await deliver()).toEqual({ isAway: false, remarks: [], last: null });
  expect(await readdir(join(data(), 'spool'))).toEqual(['README']);
});

it('a full spool rejects further lines, and still accepts the end', async () => {
  const clock = createTestClock();
  const options = { dataFolder: data(), clock, run: null, began: clock.now(), maxBytes: 300 };
  const spool = await createSpool(options);
  const log = { type: 'log', level: 'info', message: 'x'.repeat(100), repository: null } as const;
  await spool.append(log);
  await expect(spool.append({ ...log, message: 'x'.repeat(300) })).rejects.toThrow(
    'the database was unreachable for too long: what this run records exceeds 300 B',
  );
  const counters = { successful: 0, failed: 0, skipped: 0 };
  await spool.append({
    type: 'end',
    status: 'failed',
    errorMessage: 'full',
    counters,
    stoppedBy: null,
    metRequests: [],
  });
  await spool.close();
  await deliver();
  const select = 'SELECT status, error_message, duration_ms FROM backup_runs';
  // The clock stands still: times are one microsecond apart.
  expect(await rowsOf(team.database.db, select)).toEqual([
    { status: 'failed', error_message: 'full', duration_ms: 0 },
  ]);
  expect(await rowsOf(team.database.db, 'SELECT 1 FROM execution_logs')).toHaveLength(1);
});

it('a spool cannot be created if DATA_DIR/spool is not a folder', async () => {
  await mkdir(data(), { recursive: true });
  await writeFile(join(data(), 'spool'), '');
  const databaseUrl = `postgres://nobody@127.0.0.1:${await findClosedPort()}/nothing`;
  const { code, stderr } = await team.backUp({ databaseUrl });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^the database is unreachable, and DATA_DIR\/spool cannot be written: /,
    ),
  });
});
