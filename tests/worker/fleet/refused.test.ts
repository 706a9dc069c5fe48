import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eachOnce, useFleet } from '../../support/fleet.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { callWorker } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
const fleet = useFleet(database, bench);

describe('a worker', () => {
  it('is refused with another archive folder, where it changes nothing', async () => {
    const held = fleet.hold('team/a');
    const first = fleet.start('one');
    await held.came;
    const other = join(bench.folder, 'not-mounted');
    const { code, stderr } = await fleet.start('two', [], { BACKUP_ARCHIVE_PATH: other }).finished;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^cannot join run \d+: \S+not-mounted is not its archive folder/,
      ),
    });
    await expect(access(other)).rejects.toThrow('ENOENT');
    held.release();
    expect((await first.finished).code).toBe(0);
    expect(await fleet.results()).toEqual(eachOnce);
  });

  it('is refused without --join while others share a run', async () => {
    const held = fleet.hold('team/a');
    const first = fleet.start('one');
    await held.came;
    const plain = await callWorker({
      ...{ databaseUrl: database.url, archives: join(bench.folder, 'plain') },
      ...{ args: ['run'], env: bench.env },
    });
    expect(plain).toMatchObject({
      code: 75,
      stdout: expect.stringMatching(/^No run: run \d+ is a/),
    });
    held.release();
    expect((await first.finished).code).toBe(0);
  });

  it('is refused while another one runs alone', async () => {
    const held = fleet.hold('team/a');
    const alone = bench.run({ databaseUrl: database.url });
    await held.came;
    const { code, stdout } = await fleet.start('two').finished;
    expect({ code, stdout }).toEqual({
      code: 75,
      stdout: expect.stringContaining('it was started without --join'),
    });
    const json = await fleet.start('two', ['--json']).finished;
    expect({ code: json.code, summary: JSON.parse(json.stdout) }).toEqual({
      code: 75,
      summary: {
        ...{ event: 'summary', status: 'refused', active_run_id: expect.any(Number) },
        error_message: expect.stringContaining('it was started without --join'),
      },
    });
    held.release();
    expect((await alone).code).toBe(0);
  });

  it.each([[['--only', 'team/a']], [['--exclude', 'x']], [['--source', '.']]])(
    'is refused with %j, which only the starter decides',
    async (args) => {
      const held = fleet.hold('team/a');
      const first = fleet.start('one');
      await held.came;
      const { code, stdout } = await fleet.start('two', args).finished;
      expect({ code, stdout }).toEqual({
        code: 75,
        stdout: expect.stringContaining('join it without --source, --only and --exclude'),
      });
      held.release();
      expect((await first.finished).code).toBe(0);
    },
  );

  it('is refused without a database', async () => {
    const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
    const { code, stderr } = await fleet.start('one', [], nowhere).finished;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('the database is unreachable, and --join needs it'),
    });
  });
});
