import { readdir } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { openLoginStore } from '../../../lib/worker/logins/login-store.ts';
import { grantAppToken, makeToken } from '../../support/git-host/state.ts';
import { useDatabase } from '../../support/hooks.ts';
import type { HostedWorker } from '../../support/hosted-worker.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { createMemoryKeychain } from '../../support/keychain.ts';
import { factsAt } from '../../support/logins.ts';
import { lastResults, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);

const run = (env: Record<string, string> = {}) => bench.run({ databaseUrl: database.url, env });
const results = () => lastResults(database.db);
const lastRun = async () =>
  (
    await rowsOf(
      database.db,
      `SELECT status, error_message, total_repos, successful, failed, skipped FROM backup_runs
       ORDER BY id DESC LIMIT 1`,
    )
  )[0];

/** The logins of the worker, with a keychain that no other process has. */
const storeOf = ({ env }: HostedWorker) =>
  openLoginStore({
    folder: env.BACKUP_CONFIG_DIR ?? '',
    keychain: createMemoryKeychain(),
    notify: () => undefined,
  });

describe('discovery by installations', () => {
  it('backs up every repository of every page of every installation', async () => {
    bench.host.state.pageSize = 2;
    for (const name of ['team/a', 'team/b', 'team/c', 'ada/.github', 'ada/-dash']) {
      await bench.add({ fullName: name, private: true });
    }
    await bench.logIn();
    const { code, stderr } = await run();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await lastRun()).toMatchObject({ status: 'completed', total_repos: 5, successful: 5 });
    expect((await results()).map((it) => it.repo_full_name).sort()).toEqual(
      ['ada/-dash', 'ada/.github', 'team/a', 'team/b', 'team/c'].sort(),
    );
    expect(await readdir(bench.archives)).toContain('ada__.github.bundle');
    await run();
    expect(await lastRun()).toMatchObject({ total_repos: 5, successful: 0, skipped: 5 });
  });

  it('fails the run when the app is installed nowhere, without treating repositories as deleted', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    await run();
    bench.host.state.installations = [];
    const { code } = await run();
    expect(code).toBe(1);
    expect(await lastRun()).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching(
        /not installed on any accessible account: install it .* or set GIT_DISCOVERY=accounts/,
      ),
      total_repos: 0,
    });
    expect(await results()).toEqual([]);
    expect(await readdir(bench.archives)).toContain('team__a.bundle');
    const state = 'SELECT repo_full_name FROM worker_repo_state';
    expect(await rowsOf(database.db, state)).toEqual([{ repo_full_name: 'team/a' }]);
  });

  it('reports once that everything is missing, and again if it reappears and goes missing again', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.add({ fullName: 'team/b' });
    await bench.logIn();
    await run();
    const { installations } = bench.host.state;
    const seen = () =>
      rowsOf(
        database.db,
        'SELECT repo_full_name, run_id, kind, change_count, before FROM anomalies ORDER BY id',
      );
    const all = {
      ...{ repo_full_name: null, kind: 'missing', change_count: 2 },
      before: { 'team/a': 'listed', 'team/b': 'listed' },
    };
    const [first] = await rowsOf<{ id: number }>(
      database.db,
      'SELECT max(id) AS id FROM backup_runs',
    );
    const runPlus = (runs: number) => (first?.id ?? 0) + runs;
    bench.host.state.installations = [];
    await run();
    expect(await seen()).toEqual([{ ...all, run_id: runPlus(1) }]);
    await database.db.query({ text: 'UPDATE anomalies SET confirmed_at = now()' });
    await run();
    expect(await seen()).toEqual([{ ...all, run_id: runPlus(1) }]);
    bench.host.state.installations = installations;
    expect((await run()).code).toBe(0);
    bench.host.state.installations = [];
    await run();
    expect(await seen()).toMatchObject([{ run_id: runPlus(1) }, { ...all, run_id: runPlus(4) }]);
  });

  it('fails the run when the installations include no repository', async () => {
    await bench.add({ fullName: 'team/a' });
    bench.host.state.installations[0]?.repositories.pop();
    await bench.logIn();
    expect((await run()).code).toBe(1);
    expect(await lastRun()).toMatchObject({
      error_message: expect.stringContaining('cannot reach any repository'),
    });
  });

  it('fails the run when all accounts have suspended the app', async () => {
    await bench.add({ fullName: 'team/a' });
    for (const installation of bench.host.state.installations) installation.suspended = true;
    await bench.logIn();
    expect((await run()).code).toBe(1);
    expect(await lastRun()).toMatchObject({
      error_message: expect.stringContaining('the app is suspended on all accounts'),
    });
  });

  it('uses the login even if the environment has tokens, and reports when the user must log in again', async () => {
    await bench.add({ fullName: 'team/a', private: true });
    await bench.logIn();
    bench.host.state.tokens.clear();
    const token = makeToken('ghp');
    bench.host.state.tokens.set(token, { login: 'ada', endsAt: null, ofApp: false });
    const { code } = await run({ GIT_TOKEN_PERSONAL: token, GIT_TOKEN_PRIVATE: token });
    expect(code).toBe(4);
    expect(await lastRun()).toMatchObject({
      status: 'failed',
      error_message: expect.stringContaining('Log in again: npm run worker -- login github'),
    });
    const sent = bench.host.state.requests.map(({ authorization }) => authorization);
    expect(sent.join()).not.toContain(token);
  });

  it('does not fall back to a token of the environment when the login cannot be read', async () => {
    await bench.add({ fullName: 'team/a' });
    // In a keychain that is not the worker's, as when cron has no desktop session.
    await storeOf(bench).save(
      'github:source',
      { facts: factsAt(bench.host), secrets: { token: makeToken('ghu'), refresh_token: null } },
      ['keychain'],
    );
    const token = makeToken('ghp');
    bench.host.state.tokens.set(token, { login: 'ada', endsAt: null, ofApp: false });
    expect((await run({ GIT_TOKEN_PERSONAL: token, ORG_ACCOUNT: 'team' })).code).toBe(1);
    expect(await lastRun()).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching(
        /keychain could not be read .*: log in again with --store file/,
      ),
    });
    expect(bench.host.state.requests).toEqual([]);
  });

  it('ends with exit code 4 and a failed run after the login was removed', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    await run();
    await bench.run({ databaseUrl: database.url, args: ['logout', 'github'] });
    expect((await run()).code).toBe(4);
    expect(await lastRun()).toMatchObject({
      status: 'failed',
      error_message: expect.stringContaining('not logged in to the git host'),
    });
  });

  it('renews an expiring token before it is used, for the host and for git', async () => {
    await bench.add({ fullName: 'team/a', private: true });
    const { host } = bench;
    const granted = grantAppToken(host.state, 'ada', 'Iv1.standin');
    const store = storeOf(bench);
    const facts = factsAt(host, { expires_at: new Date(Date.now() + 60_000).toISOString() });
    const { access_token: token, refresh_token } = granted;
    await store.save('github:source', { facts, secrets: { token, refresh_token } }, ['file']);
    expect((await run()).code).toBe(0);
    const renewed = (await store.find('github:source')) as unknown as { token: string };
    expect(renewed.token).not.toBe(token);
    const basic = Buffer.from(`x-access-token:${renewed.token}`).toString('base64');
    expect(new Set(bench.http.requests.map(({ authorization }) => authorization))).toEqual(
      new Set([`Basic ${basic}`]),
    );
    const refreshes = host.state.requests.filter(({ body }) => body.grant_type === 'refresh_token');
    expect(refreshes).toHaveLength(1);
  });

  it('waits for a rate limit and shows until when', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    bench.host.state.apiAnswers.push({ limit: 'secondary', retryAfter: 1 });
    const { code, stderr } = await run();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/rate limit of the git host: waiting 1 s, until [\d:]+ UTC/),
    });
  });
});

describe('discovery by accounts', () => {
  beforeEach(async () => {
    bench.host.state.organizations.add('team');
    for (const [fullName, isPrivate] of [
      ['team/open', false],
      ['team/closed', true],
      ['ada/notes', false],
      ['ada/diary', true],
      ['grace/open', false],
    ] as const) {
      await bench.add({ fullName, private: isPrivate }, { installed: false });
    }
  });
  const found = async () => (await results()).map((it) => it.repo_full_name);

  it('finds repositories of ORG_ACCOUNT and PROJECT_ACCOUNT, and visible private ones', async () => {
    await bench.logIn('app');
    const env = { GIT_DISCOVERY: 'accounts', ORG_ACCOUNT: 'team', PROJECT_ACCOUNT: 'ada' };
    expect((await run(env)).code).toBe(0);
    expect(await found()).toEqual(['ada/diary', 'ada/notes', 'team/closed', 'team/open']);
  });

  it('is used with an imported token', async () => {
    await bench.logIn('token');
    expect((await run({ ORG_ACCOUNT: 'team' })).code).toBe(0);
    expect(await found()).toEqual(['ada/diary', 'team/closed', 'team/open']);
  });

  it('is used with tokens of the environment, each for its own accounts', async () => {
    const [personal, other] = [makeToken('ghp'), makeToken('ghp')];
    for (const token of [personal, other]) {
      bench.host.state.tokens.set(token, { login: 'ada', endsAt: null, ofApp: false });
    }
    const { code } = await run({
      ...{ GIT_TOKEN_PERSONAL: personal, GIT_TOKEN_PRIVATE: other },
      ...{ ORG_ACCOUNT: 'team', PROJECT_ACCOUNT: 'ada' },
    });
    expect(code).toBe(0);
    const asked = (path: string) =>
      bench.host.state.requests
        .filter((request) => request.path === `/api/v3${path}`)
        .map(({ authorization }) => authorization);
    expect(asked('/users/ada/repos')).toEqual([`Bearer ${personal}`]);
    expect(asked('/orgs/team/repos')).toEqual([`Bearer ${other}`]);
    expect(asked('/user/repos')).toEqual([`Bearer ${other}`]);
    const basic = (token: string) =>
      `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
    const cloned = (name: string) =>
      new Set(
        bench.http.requests
          .filter(({ path }) => path.startsWith(`/${name}.git/`))
          .map(({ authorization }) => authorization),
      );
    expect(cloned('ada/notes')).toEqual(new Set([basic(personal)]));
    expect(cloned('team/closed')).toEqual(new Set([basic(other)]));
  });

  it('fails the run for an account that the host does not know', async () => {
    await bench.logIn('token');
    expect((await run({ ORG_ACCOUNT: 'taem' })).code).toBe(1);
    expect(await lastRun()).toMatchObject({
      error_message: 'discovery failed: ORG_ACCOUNT is taem, which does not exist on the git host',
    });
  });

  it('fails the run when it finds nothing', async () => {
    await bench.logIn('token');
    bench.host.state.repositories.clear();
    expect((await run()).code).toBe(1);
    expect(await lastRun()).toMatchObject({
      error_message: expect.stringContaining('set ORG_ACCOUNT or PROJECT_ACCOUNT'),
    });
  });
});
