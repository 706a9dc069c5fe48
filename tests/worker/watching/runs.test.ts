import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setUpTeamApp } from '../../support/team-app.ts';
import { startOnTerminal } from '../../support/terminal.ts';
import { rowsOf } from '../../support/worker.ts';

const team = setUpTeamApp();
const args = () => ['run', '--source', team.app.path, '--source', join(team.folder, 'plain')];

it('a run ends with what failed and what to do', async () => {
  await mkdir(join(team.folder, 'plain'));
  const { stdout } = await team.backUp({ args: args() });
  expect(stdout.split('\n').slice(1)).toEqual([
    `Source not read, not found, or access lost: ${join(team.folder, 'plain')}`,
    expect.stringMatching(/^ {2}check the path or address in --source/),
    '',
  ]);
});

it('a run with --json prints one JSON object per line, and nothing else', async () => {
  await mkdir(join(team.folder, 'plain'));
  const { code, stdout, stderr } = await team.backUp({ args: [...args(), '--json'] });
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; repository?: string });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(events.slice(0, 2)).toMatchObject([
    { event: 'log', repository: null, message: 'run 1 started: 2 sources' },
    { event: 'run', run_id: 1, total_repos: 2 },
  ]);
  expect(events.filter(({ event }) => event === 'result')).toEqual(
    expect.arrayContaining([
      {
        ...{ event: 'result', at: expect.any(String), repository: 'local/app', tries: 1 },
        ...{ status: 'completed', duration_ms: expect.any(Number) },
        ...{ archive_key: 'local__app.bundle', archive_size_bytes: expect.any(Number) },
      },
    ]),
  );
  const unread = {
    ...{ source: join(team.folder, 'plain'), reason: 'missing' },
    error_message: expect.stringContaining('is no git repository, and holds none'),
  };
  expect(events.filter(({ event }) => event === 'unread')).toEqual([
    {
      ...{ event: 'unread', at: expect.any(String), tries: 1, duration_ms: expect.any(Number) },
      ...unread,
    },
  ]);
  expect(events).toContainEqual(
    expect.objectContaining({ event: 'progress', repository: 'local/app', phase: 'cloning' }),
  );
  expect(events.at(-1)).toMatchObject({
    ...{ event: 'summary', status: 'completed', run_id: 1, total_repos: 1, backed_up: 1 },
    ...{
      unchanged: 0,
      empty: 0,
      failed: 0,
      error_message: `1 source could not be read: ${join(team.folder, 'plain')}`,
    },
    failures: [],
    unread_sources: [unread],
  });
});

it('a refused run with --json says so in JSON', async () => {
  const held = team.server.holdFetch();
  const first = team.backUp();
  await held.came;
  const { code, stdout } = await team.backUp({ args: [...args(), '--json'] });
  expect({ code, summary: JSON.parse(stdout) }).toEqual({
    code: 75,
    summary: { event: 'summary', status: 'refused', active_run_id: 1 },
  });
  held.release();
  await first;
});

it.each([
  ['once', []],
  ['with --every', ['--every', '60']],
])('a run %s whose terminal is closed is recorded as stopped by SIGHUP', async (_how, more) => {
  const held = team.server.holdFetch();
  const worker = startOnTerminal('worker', {
    args: ['run', '--source', `${team.server.url}/team/app.git`, ...more],
    env: { DATABASE_URL: team.database.url },
    cwd: team.folder,
  });
  await held.came;
  await worker.waitFor(/0 of 1 done[\s\S]*cloning +team\/app/);
  worker.close();
  await worker.finished;
  held.release();
  const runs = 'SELECT status, error_message, stopped_by FROM backup_runs ORDER BY id DESC LIMIT 1';
  expect(await rowsOf(team.database.db, runs)).toEqual([
    { status: 'failed', error_message: 'interrupted by SIGHUP', stopped_by: 'SIGHUP' },
  ]);
});

it('an interrupted run leaves a terminal clean', async () => {
  const held = team.server.holdFetch();
  const worker = startOnTerminal('worker', {
    args: ['run', '--source', `${team.server.url}/team/app.git`],
    env: { DATABASE_URL: team.database.url },
    cwd: team.folder,
  });
  await held.came;
  await worker.waitFor(/0 of 1 done[\s\S]*cloning +team\/app/);
  worker.type('\u0003');
  const { code, output } = await worker.finished;
  held.release();
  expect(code).toBe(1);
  // Both lines are erased before the run's last line.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal is sent
  expect(output).toMatch(/\u001b\[2K\u001b\[1A\u001b\[J.*run 1 failed: interrupted by SIGINT\r\n/);
  expect(output.trimEnd()).toMatch(/\nRun 1 failed \(interrupted by SIGINT\): 1 repo.*s\.$/);
});
