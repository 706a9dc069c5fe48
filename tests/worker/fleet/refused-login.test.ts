import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { completedRun, eachOnce, useFleet } from '../../support/fleet.ts';
import { makeToken } from '../../support/git-host/state.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

// A member whose own login the git host refuses must not fail what others can back up.

const database = useDatabase();
const bench = useHostedWorker(database);
const fleet = useFleet(database, bench);

const refused = `refuses the login of this machine: log in again there (on ${hostname()})`;

/** Variables of a machine with a token that the host does not know. */
const unknownToken = () => ({
  BACKUP_CONFIG_DIR: join(bench.folder, 'no-config'),
  GIT_TOKEN_PERSONAL: makeToken('ghp'),
});

it('a member with a refused login gives its repositories back and leaves the run', async () => {
  const held = fleet.hold('team/a');
  const first = fleet.start('one');
  await held.came;
  const { code, stdout } = await fleet.start('two', [], unknownToken()).finished;
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^Left run \d+ .*0 backed up, 0 unchanged, 0 failed here/),
  });
  expect(stdout).toContain(refused);
  held.release();
  expect((await first.finished).code).toBe(0);
  expect(await fleet.runs()).toEqual([completedRun]);
  expect(await fleet.results()).toEqual(eachOnce);
  const lines = `SELECT message FROM execution_logs WHERE message LIKE 'a worker leaves run %'`;
  expect(await rowsOf(database.db, lines)).toEqual([{ message: expect.stringContaining(refused) }]);
});

it('a member with a refused login leaves when it asks the host whether a repository may be pushed', async () => {
  const held = fleet.hold('team/a');
  const env = { BACKUP_REPO_PATH: 'git@nowhere.invalid:team/archives.git' };
  const first = fleet.start('one', [], env);
  await held.came;
  const { code, stdout } = await fleet.start('two', [], { ...env, ...unknownToken() }).finished;
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(refused) });
  expect(await fleet.results()).toEqual([]);
  first.child.kill('SIGINT');
  await first.finished;
  held.release();
});

it('the run fails if no member is left', async () => {
  const held = fleet.hold('team/a');
  const worker = fleet.start('one');
  await held.came;
  bench.host.state.tokens.clear();
  held.release();
  const { code, stdout } = await worker.finished;
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(refused) });
  expect(await fleet.runs()).toMatchObject([
    { status: 'failed', error_message: expect.stringContaining(refused), exclusive_key: null },
  ]);
});

it('the failure of a repository names the machine', async () => {
  bench.http.answers.set('team/a', (c) => c.text('gone', 404));
  const { code } = await fleet.start('one').finished;
  expect(code).toBe(1);
  const failed = `SELECT repo_full_name AS repository, error_message AS reason FROM backup_results
    WHERE status = 'failed'`;
  expect(await rowsOf(database.db, failed)).toEqual([
    { repository: 'team/a', reason: expect.stringMatching(new RegExp(` \\(on ${hostname()}\\)$`)) },
  ]);
});
