import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import type { Context } from 'hono';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import { createBare, git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { descendantsOf, ended } from '../../support/processes.ts';
import { startScript } from '../../support/script.ts';
import { lastResults, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let target: string;
beforeEach(async () => {
  bench.host.addRepository({ fullName: 'ada/backups', private: true });
  await createBare(bare());
  await bench.add({ fullName: 'team/a', private: true });
  await bench.add({ fullName: 'team/b' });
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  target = `${bench.host.url}/ada/backups.git`;
});

const bare = () => join(bench.folder, 'host/ada/backups.git');
const at = (...args: string[]) => git(bare(), ...args);
const results = () => lastResults(database.db);
const run = (args = ['run'], env: Record<string, string> = {}) =>
  bench.run({
    databaseUrl: database.url,
    args,
    env: { BACKUP_REPO_PATH: target, BACKUP_CONCURRENCY: '1', ...env },
  });
const pushes = () =>
  bench.http.requests.filter(({ path }) => path === '/ada/backups.git/git-receive-pack').length;
const stored = () => rowsOf(database.db, 'SELECT version FROM archive_stores WHERE version > 0');
/** The names of archives that this machine considers stored. */
async function ledger(): Promise<string[]> {
  const data = await readdir(`${bench.archives}-data/stores`, { recursive: true });
  return data.flatMap((name) => /archives\/(.*)\.bundle\.json$/.exec(name)?.[1] ?? []).sort();
}
/** Runs `first` before each push is accepted. */
function beforePush(first: (c: Context) => Promise<Response | null>) {
  bench.http.answers.set('ada/backups', async (c) => {
    const isPush = c.req.path.endsWith('/git-receive-pack');
    return (isPush ? await first(c) : null) ?? bench.http.serve(c);
  });
}

it('a run pushes once, and not at all without a change', async () => {
  expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('2 backed up') });
  // One of them only asks whether the login may push.
  const first = pushes();
  expect(first).toBeLessThanOrEqual(2);
  expect(await at('rev-list', '--count', 'main')).toBe('1');
  expect(await ledger()).toEqual(['team__a', 'team__b']);
  expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('2 unchanged') });
  expect(pushes()).toBe(first);
});

it('a restore from the address uses the destination login and fetches only what it needs', async () => {
  const work = join(bench.folder, 'work/team/a');
  await run(['run'], { BACKUP_INCREMENTS_FROM_MIB: '0' });
  for (const name of ['b.txt', 'c.txt']) {
    await git(work, 'commit', '--quiet', '--allow-empty', '-m', name);
    await git(work, 'push', '--quiet', 'origin', 'main');
    await run(['run'], { BACKUP_INCREMENTS_FROM_MIB: '0' });
  }
  bench.http.requests.length = 0;
  const args = ['restore', '--from', `git+${target}`, 'team/a', '--bare', '--to', 'back.git'];
  expect(await run(args)).toMatchObject({ code: 0 });
  expect(await git(join(bench.folder, 'back.git'), 'rev-parse', 'main')).toBe(
    await git(work, 'rev-parse', 'main'),
  );
  const asked = bench.http.requests.filter(({ path }) => path.endsWith('/git-upload-pack'));
  // A listing of refs and a pack to clone; then one fetch for the state and one for the files, with two requests each.
  expect(asked.length).toBeLessThanOrEqual(6);
});

it('a failed push fails the repositories that waited for it, and records nothing', async () => {
  beforePush(async (c) => c.text('quota exceeded', 403));
  expect((await run()).code).toBe(1);
  const failure = { status: 'failed', error_message: expect.stringMatching(/^not pushed: .*403/) };
  expect(await results()).toMatchObject([failure, failure]);
  expect(await ledger()).toEqual([]);
  expect(await stored()).toEqual([]);
  bench.http.answers.clear();
  expect((await run()).code).toBe(0);
  expect((await results()).map(({ status }) => status)).toEqual(['completed', 'completed']);
  expect(await ledger()).toEqual(['team__a', 'team__b']);
});

it('a push that failed temporarily is tried again', async () => {
  let count = 0;
  beforePush(async (c) => (count++ === 0 ? c.text('oops', 503) : null));
  const clock = createTestClock();
  const ended = await bench.run({
    databaseUrl: database.url,
    env: { BACKUP_REPO_PATH: target, BACKUP_CONCURRENCY: '1' },
    clock: {
      now: clock.now,
      sleep(ms, signal) {
        const slept = clock.sleep(ms, signal);
        if (ms > 1_000 && ms < 30_000) clock.advance(ms);
        return slept;
      },
    },
  });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('2 backed up') });
  expect(await at('rev-list', '--count', 'main')).toBe('1');
});

it('a push is repeated on top of another one that came first', async () => {
  let others = 0;
  beforePush(async () => {
    if (others++ < 2) {
      const tree = await at('write-tree');
      const tip = (await at('for-each-ref', '--format=%(objectname)', 'refs/heads/main')) || null;
      const parent = tip === null ? [] : ['-p', tip];
      const commit = await at('commit-tree', tree, ...parent, '-m', `other ${others}`);
      await at('update-ref', 'refs/heads/main', commit);
    }
    return null;
  });
  expect(await run()).toMatchObject({ code: 0 });
  const subjects = (await at('log', '--format=%s', 'main')).split('\n');
  expect(subjects[0]).toBe('Back up 2 archives');
  expect(subjects.slice(1)).toContain('other 1');
  expect(await at('fsck', '--full', '--connectivity-only', '--no-dangling')).toBe('');
});

it('a private repository is not pushed if the destination became public while it waited', async () => {
  const { repositories } = bench.host.state;
  const [backups, other] = ['ada/backups', 'team/b'].map((name) => repositories.get(name));
  if (backups === undefined || other === undefined) throw new Error('a repository is missing');
  other.private = true;
  const clock = createTestClock();
  const seen = new Set<unknown>();
  const ended = await bench.run({
    databaseUrl: database.url,
    env: { BACKUP_REPO_PATH: target, BACKUP_CONCURRENCY: '1' },
    clock,
    wrap: (db) => ({
      ...db,
      query(statement, ...values) {
        for (const value of values.flat()) if (/^team\/[ab]$/.test(`${value}`)) seen.add(value);
        if (seen.size === 2 && backups.private) {
          // The second one has begun while the first one waits.
          backups.private = false;
          clock.advance(61_000);
        }
        return db.query(statement, ...values);
      },
    }),
  });
  expect(ended.code).toBe(1);
  const problem = 'private, and the destination is not confirmed private: it is public';
  const messages = (await results()).map(({ error_message }) => error_message).sort();
  expect(messages).toEqual([
    `not pushed: a repository may be ${problem}`,
    `not pushed: the repository is ${problem}`,
  ]);
  expect(await at('for-each-ref')).toBe('');
});

it('a private repository is not pushed to a public destination, encrypted or not', async () => {
  const repository = bench.host.state.repositories.get('ada/backups');
  if (repository === undefined) throw new Error('there is no destination');
  repository.private = false;
  const recipient = await identityToRecipient(await generateIdentity());
  const encrypted = {
    ...{ BACKUP_AGE_RECIPIENTS: recipient, BACKUP_NAMES_KEY: 'n'.repeat(40) },
    DATA_DIR: join(bench.folder, 'other-data'),
  };
  for (const env of [{}, encrypted] as Record<string, string>[]) {
    expect((await run(['run'], env)).code).toBe(1);
    const [first] = await results();
    expect(first).toEqual({
      repo_full_name: 'team/a',
      status: 'failed',
      error_message:
        'not pushed: the repository is private, and the destination is not confirmed private: it is public',
    });
  }
  const paths = await at('ls-tree', '-r', '--name-only', 'main');
  expect(paths).toContain('archives/team__b/');
  expect(paths).not.toContain('team__a');
  // Encrypted archives have secret names.
  expect(paths).toMatch(/archives\/[0-9a-f]{40}\/states\/00000001\.json\.age\.part-/);
});

describe.runIf(process.platform === 'linux')('a killed worker', () => {
  /** Kills a worker during its push: before the push is accepted, or before it is answered. */
  async function killAtPush(when: 'before' | 'after'): Promise<void> {
    const came = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    bench.http.answers.set('ada/backups', async (c) => {
      const isPush =
        c.req.path.endsWith('/git-receive-pack') &&
        Number(c.req.header('content-length') ?? 999) > 4;
      if (!isPush) return bench.http.serve(c);
      const answer = when === 'after' ? await bench.http.serve(c) : null;
      const body = answer === null ? null : await answer.arrayBuffer();
      came.resolve();
      await gone.promise;
      return new Response(body, answer ?? { status: 503 });
    });
    const worker = startScript('worker', {
      args: ['run'],
      cwd: bench.folder,
      env: {
        ...bench.env,
        BACKUP_REPO_PATH: target,
        DATABASE_URL: database.url,
        BACKUP_ARCHIVE_PATH: bench.archives,
        DRILL_BUDGET_MINUTES: '0',
        DATA_DIR: `${bench.archives}-data`,
      },
    });
    await Promise.race([came.promise, worker.finished]);
    const below = await descendantsOf(worker.child.pid ?? 0);
    worker.child.kill('SIGKILL');
    const { code, stderr } = await worker.finished;
    expect(code, stderr).toBeNull();
    gone.resolve();
    await ended(below.map(({ pid }) => pid));
    bench.http.answers.clear();
  }

  it.each(['before', 'after'] as const)('loses nothing %s its push is accepted', async (when) => {
    await killAtPush(when);
    expect(await ledger()).toEqual([]);
    expect(await stored()).toEqual([]);
    const tip = await at('for-each-ref', '--format=%(objectname)', 'refs/heads/main');
    expect(tip === '').toBe(when === 'before');
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('2 backed up') });
    expect(await ledger()).toEqual(['team__a', 'team__b']);
    const check = await run(['store', 'check', '--deep', '--store', `git+${target}`]);
    expect(check).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('everything is there'),
    });
    const scratch = await readdir(`${bench.archives}-data/stores`, { recursive: true });
    expect(scratch.filter((name) => name.includes('.scratch-'))).toEqual([]);
  });
});
