import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'hono';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRepository, git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { createHostedWorker, useHostedWorker } from '../../support/hosted-worker.ts';
import { lastResults, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let target: string;
beforeEach(async () => {
  await bench.add({ fullName: 'ada/backups', private: true }, { installed: false });
  await bench.add({ fullName: 'team/a', private: true });
  target = `${bench.host.url}/ada/backups.git`;
});

const results = () => lastResults(database.db);
const run = (env: Record<string, string> = {}) =>
  bench.run({
    databaseUrl: database.url,
    env: { BACKUP_REPO_PATH: target, BACKUP_REPO_LAYOUT: 'files', ...env },
  });
const at = (...args: string[]) => git(join(bench.folder, 'host/ada/backups.git'), ...args);
const basic = (token: string) =>
  `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
const headersFor = (repository: string) =>
  new Set(
    bench.http.requests
      .filter(({ path }) => path.startsWith(`/${repository}.git/`))
      .map(({ authorization }) => authorization),
  );
/** Runs `first` before each push is accepted. */
function beforePush(first: (c: Context) => Promise<Response | null>) {
  bench.http.answers.set('ada/backups', async (c) => {
    const isPush = c.req.path.endsWith('/git-receive-pack');
    return (isPush ? await first(c) : null) ?? bench.http.serve(c);
  });
}

it('a run pushes with the destination login and reads sources with the source login', async () => {
  const source = await bench.logIn();
  const destination = await bench.logIn('token', 'github:destination');
  const { code, stderr } = await run();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(await at('ls-tree', '--name-only', 'main')).toBe('a.txt\nteam__a.bundle');
  expect(headersFor('ada/backups')).toEqual(new Set([basic(destination)]));
  expect(headersFor('team/a')).toEqual(new Set([basic(source)]));
  expect(stderr).toContain('\nteam/a: pushed to the destination\n');
});

it('a run measures the destination without reading its files', async () => {
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  const { stderr } = await run();
  const size = Number(await at('cat-file', '-s', 'main:team__a.bundle'));
  const snapshot = 'SELECT * FROM analytics_snapshots ORDER BY id DESC LIMIT 1';
  expect(await rowsOf(database.db, snapshot)).toMatchObject([
    {
      head_commit: await at('rev-parse', 'main'),
      ...{ total_commits: 2, tracked_files: 2, archive_count: 1 },
      total_archive_size_bytes: size,
    },
  ]);
  expect(stderr).toContain(
    '\nanalytics omit 1 file of the destination, whose size is unknown here',
  );
});

it('a run does not back up the destination into itself', async () => {
  bench.host.state.installations[0]?.repositories.push('ada/backups');
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  const { stderr } = await run();
  expect(await results()).toMatchObject([{ repo_full_name: 'team/a' }]);
  expect(stderr).toContain('ada/backups: skipped: it is the destination of the archives');
});

describe('a run with user settings that would redirect git', () => {
  let home: string;
  beforeEach(async () => {
    home = join(bench.folder, 'home');
    await createRepository(home);
    const set = (key: string, value: string) =>
      git(home, 'config', '--file', '.gitconfig', key, value);
    await set('credential.helper', '!touch ~/asked; echo username=x; echo password=y');
    await set(`url.${bench.host.url}/nowhere/.insteadOf`, `${bench.host.url}/`);
    await set('http.extraHeader', 'Authorization: Bearer of-another');
    await bench.logIn();
  });

  it('pushes only with the login', async () => {
    const token = await bench.logIn('token', 'github:destination');
    expect((await run({ HOME: home })).code).toBe(0);
    expect(headersFor('ada/backups')).toEqual(new Set([basic(token)]));
  });

  it('reports that the host rejects the login, and uses no credential helper', async () => {
    const token = await bench.logIn('token', 'github:destination');
    bench.host.state.tokens.delete(token);
    expect((await run({ HOME: home })).code).toBe(1);
    expect(await results()).toMatchObject([
      {
        error_message: expect.stringMatching(
          /^not pushed: .* does not accept the destination login/,
        ),
      },
    ]);
    expect(await readdir(home)).not.toContain('asked');
  });
});

it('a run sends the destination login to no other host', async () => {
  await bench.add({ fullName: 'team/open' });
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  const elsewhere = target.replace('127.0.0.1', 'localhost');
  expect((await run({ BACKUP_REPO_PATH: elsewhere })).code).toBe(1);
  expect(headersFor('ada/backups')).toEqual(new Set([null]));
  expect(await results()).toMatchObject([
    { repo_full_name: 'team/a', error_message: expect.stringContaining('not on 127.0.0.1') },
    {
      repo_full_name: 'team/open',
      error_message: expect.stringMatching(
        /^not pushed: git needs its own credentials there: the destination login is only for 127\.0\.0\.1/,
      ),
    },
  ]);
});

it('a run reports that there is no destination login', async () => {
  await bench.logIn();
  expect((await run()).code).toBe(1);
  expect(await results()).toMatchObject([
    {
      status: 'failed',
      error_message: expect.stringMatching(
        /there is no destination login.*login github --profile destination/,
      ),
    },
  ]);
});

it.runIf(process.platform === 'linux')(
  'a run keeps tokens out of arguments and configuration while git runs',
  async () => {
    const tokens = [await bench.logIn(), await bench.logIn('token', 'github:destination')];
    const secrets = tokens.flatMap((token) => [token, basic(token).slice('Basic '.length)]);
    const seen: { arguments: string[]; withToken: number; configs: string[] } = {
      ...{ arguments: [], withToken: 0, configs: [] },
    };
    const look = async () => {
      for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
        // A process may end while it is inspected.
        const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
        const [line, environment] = [await read('cmdline'), await read('environ')];
        seen.arguments.push(line);
        if (secrets.some((secret) => environment.includes(secret))) seen.withToken++;
      }
      const names = await readdir(bench.archives, { recursive: true });
      for (const name of names.filter((path) => path.endsWith('.git/config'))) {
        seen.configs.push(await readFile(join(bench.archives, name), 'utf8'));
      }
    };
    beforePush(async () => {
      await look();
      return null;
    });
    bench.http.answers.set('team/a', async (c) => {
      await look();
      return bench.http.serve(c);
    });
    const { code, stdout, stderr } = await run();
    expect(code).toBe(0);
    expect(seen.arguments.some((line) => line.includes('push'))).toBe(true);
    // The inspected processes include those with the token in their environment.
    expect(seen.withToken).toBeGreaterThan(0);
    expect(seen.configs.some((text) => text.includes(target))).toBe(true);
    const told = [...seen.arguments, ...seen.configs, stdout, stderr].join('\n');
    for (const secret of secrets) expect(told).not.toContain(secret);
  },
);

it.each(['source', 'destination'])('no token follows a redirect of a %s', async (what) => {
  await bench.logIn();
  await bench.logIn('token', 'github:destination');
  const elsewhere = await createHostedWorker();
  const name = what === 'source' ? 'team/a' : 'ada/backups';
  await elsewhere.add({ fullName: name });
  bench.http.answers.set(name, (c) =>
    c.redirect(`${elsewhere.host.url}${c.req.path}?service=${c.req.query('service')}`, 301),
  );
  expect((await run()).code).toBe(1);
  expect(await results()).toMatchObject([
    { status: 'failed', error_message: expect.stringMatching(/301|redirect/) },
  ]);
  expect(elsewhere.http.requests).toEqual([]);
  await elsewhere.close();
});

describe('a push that is rejected', () => {
  beforeEach(async () => {
    await bench.logIn();
    await bench.logIn('token', 'github:destination');
  });

  it("is repeated on top of another worker's concurrent push", async () => {
    let others = 0;
    beforePush(async () => {
      if (others++ < 2) {
        const tree = await at('write-tree');
        const tip = await at('rev-parse', 'main');
        const commit = await at('commit-tree', tree, '-p', tip, '-m', `other ${others}`);
        await at('update-ref', 'refs/heads/main', commit);
      }
      return null;
    });
    expect((await run()).code).toBe(0);
    expect(await at('log', '--format=%s', 'main')).toBe('Back up team/a\nother 2\nother 1\nchange');
    expect(await at('ls-tree', '--name-only', 'main')).toBe('team__a.bundle');
    expect(others).toBe(3);
  });

  it("yields a failed result with the host's message if it is rejected permanently, and the run continues", async () => {
    await bench.add({ fullName: 'team/b' });
    beforePush(async (c) => c.text('quota exceeded', 403));
    expect((await run()).code).toBe(1);
    expect(await results()).toMatchObject([
      { repo_full_name: 'team/a', error_message: expect.stringMatching(/^not pushed: .*403/) },
      { repo_full_name: 'team/b', error_message: expect.stringMatching(/^not pushed: .*403/) },
    ]);
    expect(await readdir(bench.archives)).toEqual(
      expect.arrayContaining(['team__a.bundle', 'team__b.bundle']),
    );
  });

  it('is not retried if a rule of the repository rejects it', async () => {
    const hook = '#!/bin/sh\necho main is protected >&2\nexit 1\n';
    await writeFile(join(bench.folder, 'host/ada/backups.git/hooks/pre-receive'), hook, {
      mode: 0o700,
    });
    expect((await run()).code).toBe(1);
    expect(await results()).toMatchObject([
      { error_message: expect.stringMatching(/^not pushed: .*main is protected.*hook declined/) },
    ]);
    const pushes = bench.http.requests.filter(({ path }) => path.endsWith('/git-receive-pack'));
    expect(pushes.length).toBeLessThanOrEqual(2);
  });
});
