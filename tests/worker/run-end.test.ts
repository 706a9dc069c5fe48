import { execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Database, databaseUnavailable } from '../../lib/database/database.ts';
import { RunStopped } from '../../lib/worker/base/stop.ts';
import { listSpools } from '../../lib/worker/record/spool-file.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { setUpTeamApp } from '../support/team-app.ts';
import { rowsOf } from '../support/worker.ts';

const team = setUpTeamApp();
const runs = () =>
  rowsOf(team.database.db, 'SELECT status, error_message, exclusive_key FROM backup_runs');

/** The run's waits for the database end immediately; the heartbeat waits for the test. */
function impatient(): TestClock {
  const clock = createTestClock();
  return {
    ...clock,
    sleep(ms, signal) {
      const slept = clock.sleep(ms, signal);
      if (ms < 30_000) clock.advance(ms);
      return slept;
    },
  };
}

/** A database for which some statements fail as unavailable; `isAway` may count. */
function losing(isAway: (name: string | undefined) => boolean): (db: Database) => Database {
  return (db: Database) => ({
    ...db,
    async query<Row>(...args: Parameters<Database['query']>) {
      if (isAway(args[0].name)) throw databaseUnavailable(new Error('lost'));
      return db.query<Row>(...args);
    },
  });
}

describe('the end of a run', () => {
  const interrupt = () => {
    const controller = new AbortController();
    return {
      signal: controller.signal,
      abort: () => controller.abort(new RunStopped('interrupted by SIGINT')),
    };
  };

  it('is stored after an interrupt, even if log lines can no longer be written', async () => {
    const held = team.server.holdFetch();
    const { signal, abort } = interrupt();
    const wrap = losing((name) => signal.aborted && name === 'write_log');
    const run = team.backUp({ signal, clock: impatient(), wrap });
    await held.came;
    abort();
    const { code, stdout, stderr } = await run;
    held.release();
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: expect.stringContaining('Run 1 failed (interrupted by SIGINT)'),
      stderr: expect.stringContaining('the last line of a run could not be stored'),
    });
    expect(await runs()).toEqual([
      { status: 'failed', error_message: 'interrupted by SIGINT', exclusive_key: null },
    ]);
  });

  it('is stored after an interrupt if the database returns within five seconds', async () => {
    const held = team.server.holdFetch();
    const { signal, abort } = interrupt();
    let losses = 3;
    const wrap = losing(() => signal.aborted && losses-- > 0);
    const run = team.backUp({ signal, clock: impatient(), wrap });
    await held.came;
    abort();
    await run;
    held.release();
    expect(await runs()).toEqual([
      { status: 'failed', error_message: 'interrupted by SIGINT', exclusive_key: null },
    ]);
    const lines = `SELECT level, message FROM execution_logs ORDER BY id DESC LIMIT 1`;
    expect(await rowsOf(team.database.db, lines)).toEqual([
      { level: 'error', message: 'run 1 failed: interrupted by SIGINT' },
    ]);
  });

  it('is stored once the database returns after not answering for too long', async () => {
    const held = team.server.holdFetch();
    const clock = impatient();
    let isAway = false;
    const run = team.backUp({
      clock,
      wrap: losing((name) => isAway && (name === 'beat_run' || name === 'write_log')),
    });
    await held.came;
    isAway = true;
    for (let beat = 0; beat < 4; beat++) {
      while (clock.sleepers() === 0) await new Promise(setImmediate);
      clock.advance(30_000);
    }
    await untilSpooled();
    isAway = false;
    held.release();
    const { code, stdout, stderr } = await run;
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Run 1 completed: .* 1 backed up.* s\.\n$/),
      stderr: expect.stringContaining('delivered run 1 with 1 result'),
    });
    expect(await runs()).toEqual([
      {
        status: 'completed',
        error_message: '',
        exclusive_key: expect.stringMatching(/^spool:[0-9a-f-]{36}$/),
      },
    ]);
  });

  it('is stored as completed even if its last log line is lost', async () => {
    const wrap = (db: Database): Database => ({
      ...db,
      async query<Row>(...args: Parameters<Database['query']>) {
        if (`${args[1]?.[2]}`.startsWith('run 1 completed'))
          throw databaseUnavailable(new Error('lost'));
        return db.query<Row>(...args);
      },
    });
    expect(await team.backUp({ clock: impatient(), wrap })).toMatchObject({ code: 0 });
    expect(await runs()).toEqual([{ status: 'completed', error_message: '', exclusive_key: null }]);
  });

  it.runIf(process.platform !== 'win32')(
    'is stored after an interrupt while the file system does not answer',
    async () => {
      const pipe = join(team.folder, 'pipe');
      await promisify(execFile)('mkfifo', [pipe]);
      const { signal, abort } = interrupt();
      // Each waits for a writer, and occupies one of Node's threads for file operations.
      const blocked: Promise<void>[] = [];
      const wrap = (db: Database): Database => ({
        ...db,
        async query<Row>(...args: Parameters<Database['query']>) {
          const rows = await db.query<Row>(...args);
          if (args[0].name === 'claim_requests') {
            for (let thread = 0; thread < 64; thread++) blocked.push(readNothing(pipe));
            setImmediate(abort);
          }
          return rows;
        },
      });
      const { stdout } = await team.backUp({ signal, wrap });
      await release(pipe, blocked);
      expect(stdout).toContain('Run 1 failed (interrupted by SIGINT)');
      expect(await runs()).toEqual([
        { status: 'failed', error_message: 'interrupted by SIGINT', exclusive_key: null },
      ]);
    },
  );
});

/** Resolves when the run has started spooling. */
async function untilSpooled(): Promise<void> {
  while ((await listSpools(`${team.archives}-data`)).length === 0) await new Promise(setImmediate);
}

async function readNothing(pipe: string): Promise<void> {
  await (await open(pipe, 'r')).close();
}

/** Keeps the pipe open for writing until all readers have opened it. */
async function release(pipe: string, blocked: Promise<void>[]): Promise<void> {
  const writer = openSync(pipe, 'r+');
  await Promise.all(blocked);
  closeSync(writer);
}
