import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../lib/database/database.ts';
import { RunStopped } from '../../../lib/worker/base/stop.ts';
import { createRepository } from '../../support/git.ts';
import { setUpTeamApp } from '../../support/team-app.ts';
import { rowsOf } from '../../support/worker.ts';

const team = setUpTeamApp();
const names = Array.from({ length: 7 }, (_, index) => `team/r${index}`);
const args = () => [
  'run',
  ...names.flatMap((name) => ['--source', `${team.server.url}/${name}.git`]),
];

beforeEach(async () => {
  for (const name of names) {
    const repository = await createRepository(join(team.folder, name));
    await repository.commit({ 'a.txt': name });
    team.server.serve(`${name}.git`, repository.path);
  }
});

/** Watches how many repositories are between their first log line and their result. */
function watchOpen() {
  const open = new Set<unknown>();
  const seen: number[] = [];
  let wanted = { count: Number.POSITIVE_INFINITY, reached: () => undefined as unknown };
  return {
    seen,
    /** Resolves when this many are open at once. */
    reach: (count: number) =>
      new Promise<void>((resolve) => {
        wanted = { count, reached: resolve };
      }),
    wrap: (db: Database): Database => ({
      ...db,
      async query<Row>(...args: Parameters<Database['query']>) {
        const [statement, values] = args;
        const message = `${values?.[2]}`;
        if (statement.name === 'write_log' && message.endsWith('fetching')) open.add(values?.[3]);
        if (statement.name === 'record_result') open.delete(values?.[1]);
        seen.push(open.size);
        if (open.size >= wanted.count) wanted.reached();
        return db.query<Row>(...args);
      },
    }),
  };
}

it.each([
  ['4', {}],
  ['2', { BACKUP_CONCURRENCY: '2' }],
])('a run backs up %s repositories at once', async (expected, env) => {
  const held = team.server.holdFetch();
  const { seen, reach, wrap } = watchOpen();
  const reached = reach(Number(expected));
  const run = team.backUp({ args: args(), env, wrap });
  await reached;
  held.release();
  expect((await run).stdout).toContain('7 repositories, 7 backed up, 0 unchanged, 0 failed');
  expect(Math.max(...seen)).toBe(Number(expected));
});

it('a run records each result once, and the log lines of each repository in order', async () => {
  await team.backUp({ args: args(), env: { BACKUP_CONCURRENCY: '7' } });
  expect(
    await rowsOf(
      team.database.db,
      'SELECT total_repos, successful, failed, skipped FROM backup_runs',
    ),
  ).toEqual([{ total_repos: 7, successful: 7, failed: 0, skipped: 0 }]);
  const results = 'SELECT repo_full_name AS name FROM backup_results ORDER BY 1';
  expect(await rowsOf(team.database.db, results)).toEqual(names.map((name) => ({ name })));
  const lines = `SELECT repository, string_agg(split_part(message, ' ', 1), ' ' ORDER BY id) AS lines
    FROM execution_logs WHERE repository IS NOT NULL GROUP BY 1 ORDER BY 1`;
  expect(await rowsOf(team.database.db, lines)).toEqual(
    names.map((repository) => ({ repository, lines: 'no archived' })),
  );
});

it('a run starts with the repository that took longest last time', async () => {
  await team.backUp({ args: args() });
  await team.database.db.query({
    text: `UPDATE backup_results SET duration_ms = CASE repo_full_name WHEN 'team/r5' THEN 99999 ELSE 1 END`,
  });
  const asked: unknown[] = [];
  const wrap = (db: Database): Database => ({
    ...db,
    async query<Row>(...args: Parameters<Database['query']>) {
      if (args[0].name === 'repo_state') asked.push(args[1]?.[0]);
      return db.query<Row>(...args);
    },
  });
  await team.backUp({ args: args(), wrap, env: { BACKUP_CONCURRENCY: '1' } });
  expect(asked[0]).toBe('team/r5');
  expect(asked).toHaveLength(7);
});

describe('stopping a run', () => {
  it('ends all repositories and leaves no files behind', async () => {
    const held = team.server.holdFetch();
    const interrupt = new AbortController();
    const { reach, wrap } = watchOpen();
    const reached = reach(4);
    const run = team.backUp({ args: args(), wrap, signal: interrupt.signal });
    await reached;
    interrupt.abort(new RunStopped('interrupted by SIGINT'));
    const { code, stdout } = await run;
    held.release();
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining('failed (interrupted by SIGINT): 7 repositories, 0 backed'),
    });
    expect(await readdir(team.archives)).toEqual([]);
    expect(await rowsOf(team.database.db, 'SELECT 1 FROM backup_results')).toEqual([]);
  });

  it('ends the other repositories, too, if one cannot be recorded', async () => {
    const held = team.server.holdFetch();
    const { reach, wrap } = watchOpen();
    const reached = reach(4);
    const run = team.backUp({
      args: args(),
      wrap: (db) => {
        const watched = wrap(db);
        return {
          ...watched,
          query: async (...args) => {
            if (args[0].name === 'repo_state' && args[1]?.[0] === 'team/r4') throw new Error('odd');
            return watched.query(...args);
          },
        };
      },
      env: { BACKUP_CONCURRENCY: '5' },
    });
    const { code, stdout } = await run;
    held.release();
    await Promise.race([reached, run]);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining('failed (the run failed unexpectedly: odd)'),
    });
    expect(await readdir(team.archives)).toEqual([]);
  });
});
