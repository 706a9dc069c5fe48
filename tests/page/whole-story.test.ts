import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { flipByte } from '../support/chains.ts';
import { hasChromium } from '../support/chromium.ts';
import { createEmbedded } from '../support/databases.ts';
import { withSecret } from '../support/deps.ts';
import type { TestRepository } from '../support/git.ts';
import { createHostedWorker, type HostedWorker } from '../support/hosted-worker.ts';
import { type PageWorld, startPageWorld, type Window } from '../support/page.ts';
import { sql } from '../support/records.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';

// What can go wrong with backups, one problem after the other. Each is noticed, explained, reported once, shown alike
// by the API, the page, the metrics and a badge, and resolved.

/** So many that a single missing one is not an anomaly of the whole fleet. */
const others = ['docs', 'infra', 'old', 'tools', 'web'];
const good = Object.fromEntries(['api', ...others].map((name) => [`team/${name}`, 'good']));

// No step can be retried, because the next ones build on it. On a busy machine, one may take minutes.
const options = { timeout: 300_000, retry: 0 };

describe.skipIf(!hasChromium)('a whole story (skipped without Chromium)', options, () => {
  let ntfy: ScriptedServer;
  let world: PageWorld;
  let window: Window;
  let bench: HostedWorker;
  let api: TestRepository;
  let store: string;
  let badge: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    ntfy = await startScriptedServer(() => ({ body: {} }));
    const alerts = {
      ALERT_CHANNELS: `ntfy+http://${new URL(ntfy.url).host}/backups`,
      BACKUP_EVERY: '1h',
    };
    bench = await createHostedWorker();
    world = await startPageWorld(alerts, createEmbedded);
    window = await world.openWindow();
    await window.logIn();
    store = join(bench.folder, 'store');
    await mkdir(store);
    env = { ...alerts, BACKUP_STORES: `file://${store}` };
    api = await bench.add({ fullName: 'team/api' });
    for (const name of others) await bench.add({ fullName: `team/${name}` });
    await bench.logIn();
  });
  afterAll(async () => {
    await world.close();
    await bench.close();
    await ntfy.close();
  });

  const work = (...args: string[]) =>
    bench.run({
      databaseUrl: world.database.url,
      archives: world.archives,
      args,
      env,
    });
  const get = async <Body>(path: string): Promise<Body> => {
    const answer = await fetch(`${world.server.url}${path}`, { headers: withSecret });
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    return (await answer.json()) as Body;
  };
  /** Runs the worker, and expects success. */
  async function runWell() {
    const { code, stderr } = await work('run');
    if (code !== 0) throw new Error(stderr);
  }
  interface Message {
    title: string;
    message: string;
  }
  /** The alerts that were sent since the last call. */
  const messages = () => ntfy.received.splice(0).map(({ body }) => JSON.parse(body) as Message);
  const titles = () => messages().map(({ title }) => title);
  /** Expects a single alert since the last call, with its reason and with advice. */
  function expectAlert(title: string, reason: RegExp) {
    const [message, ...more] = messages();
    expect({ title: message?.title, more }).toEqual({ title, more: [] });
    expect(message?.message).toMatch(reason);
    expect(message?.message).toContain('What to do: ');
  }

  /** The rules with open incidents and the states of all repositories. Checks that every view shows the same. */
  async function look() {
    type Incidents = { data: { rule: string; title: string; summary: string }[] };
    type Repositories = { data: { full_name: string; state: string }[] };
    const incidents = await get<Incidents>('/api/incidents?state=open');
    const repositories = await get<Repositories>('/api/repos?limit=50');
    const metrics = await fetch(`${world.server.url}/metrics`, { headers: withSecret });
    const text = await metrics.text();
    const found = (pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match.slice(1));
    const rules = incidents.data.map(({ rule }) => rule).sort();
    const states = Object.fromEntries(
      repositories.data.map(({ full_name, state }) => [full_name, state]),
    );
    expect(
      found(/^backup_incidents\{rule="(\w+)",acknowledged="false"\} ([1-9]\d*)$/gm)
        .map(([rule]) => rule)
        .sort(),
    ).toEqual([...new Set(rules)]);
    expect(
      Object.fromEntries(
        found(/^backup_repository_state\{repository="([^"]+)",state="(\w+)"\} 1$/gm),
      ),
    ).toEqual(states);
    const { open, page } = window;
    await open('/app/incidents');
    await page.getByRole('heading', { level: 1 }).waitFor();
    for (const { title, summary } of incidents.data) {
      await page.getByText(title).first().waitFor();
      await page.getByText(summary).first().waitFor();
    }
    await open('/app/repositories');
    for (const [name, state] of Object.entries(states)) {
      await page
        .getByRole('row', { name })
        .getByText(shownAs(state))
        // The list of coverage below has the same words.
        .first()
        .waitFor();
    }
    // Their pages are alike, so one is enough: of a repository in trouble, if there is one.
    const all = Object.keys(states);
    const name = all.find((name) => states[name] !== 'good') ?? all[0] ?? '';
    await open(`/app/repositories/${name}`);
    await page
      .getByText(shownAs(states[name] ?? ''))
      .first()
      .waitFor();
    return { rules, states };
  }
  /** How the page names a state. */
  const shownAs = (state: string) =>
    new RegExp(`^${state === 'lost' ? 'lost at its source' : state}$`, 'i');
  async function expectBadge(message: unknown) {
    // The server keeps what a badge shows for 30 seconds.
    await world.restart(async () => undefined);
    const answer = await fetch(`${world.server.url}${badge}`);
    expect(await answer.json()).toMatchObject({ message });
  }

  it('begins with two good runs and proven restores', async () => {
    await runWell();
    await api.commit({ 'b.txt': 'second' });
    await api.git('push', '--quiet', 'origin', 'main');
    await runWell();
    expect(await work('drill', '--all')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('6 proven'),
    });
    const created = await fetch(`${world.server.url}/api/badges`, {
      method: 'POST',
      headers: { ...withSecret, 'Content-Type': 'application/json' },
      body: '{}',
    });
    expect(created.status).toBe(201);
    ({ json: badge } = (await created.json()) as { json: string });
    expect(await look()).toEqual({ rules: [], states: good });
    await expectBadge('good, proven today');
    expect(titles()).toEqual([]);
  });

  it('reports a force push until someone confirms it', async () => {
    await api.git('commit', '--quiet', '--amend', '--message', 'rewritten');
    await api.git('push', '--quiet', '--force', 'origin', 'main');
    await work('run');
    expect(await look()).toEqual({ rules: ['anomaly'], states: good });
    const title = 'Something changed at the source that you should look at';
    expectAlert(title, /team\/api: branches were rewritten/);
    await expectBadge('good, proven today, 1 incident');
    await work('run');
    expect(titles()).toEqual([]);
    await work('anomalies', 'confirm', 'team/api');
    await work('run');
    expect(await look()).toEqual({ rules: [], states: good });
    expect(titles()).toEqual([`Resolved: ${title}`]);
  });

  it('reports a revoked token until there is a new one', async () => {
    bench.host.state.tokens.clear();
    expect((await work('run')).code).toBe(4);
    expect(await look()).toEqual({ rules: ['login_expired'], states: good });
    expectAlert('The git host refuses the login', /login|token/);
    await expectBadge('good, proven today, 1 incident');
    await work('run');
    expect(titles()).toEqual([]);
    await bench.logIn();
    await runWell();
    expect(await look()).toEqual({ rules: [], states: good });
    expect(titles()).toEqual(['Resolved: The git host refuses the login']);
  });

  it('reports a deleted repository until it is back', async () => {
    const { repositories } = bench.host.state;
    const deleted = repositories.get('team/old');
    if (deleted === undefined) throw new Error('the host has no such repository');
    repositories.delete('team/old');
    await work('run');
    expect(await look()).toEqual({
      rules: ['repository_failing'],
      states: { ...good, 'team/old': 'lost' },
    });
    await expectBadge(expect.stringMatching(/^lost at its source, .+, 1 incident$/));
    expectAlert(
      'Repositories are not backed up',
      /team\/old: access lost: the git host answers 404/,
    );
    await work('run');
    expect(titles()).toEqual([]);
    repositories.set('team/old', deleted);
    await work('run');
    expect(await look()).toEqual({ rules: [], states: good });
    expect(titles()).toEqual(['Resolved: Repositories are not backed up']);
  });

  it('reports an archive that is damaged in its store until it is whole again', async () => {
    const names = await readdir(store, { recursive: true });
    const [object] = names.filter(
      (name) => /team__web\/objects\/[^/]+\/?[^/]*$/.test(name) && /[0-9a-f]{64}$/.test(name),
    );
    const path = join(store, object ?? '');
    const whole = await readFile(path);
    await flipByte(path);
    // No run until it is whole again: a run may read the same object, and report the destination too.
    expect((await work('drill', '--repo', 'team/web')).code).not.toBe(0);
    expect(await look()).toEqual({ rules: ['drill_failed'], states: good });
    await expectBadge('good, restore failed, 1 incident');
    expectAlert('A backup could not be restored', /team\/web: /);
    expect((await work('drill', '--repo', 'team/web')).code).not.toBe(0);
    expect(titles()).toEqual([]);
    await writeFile(path, whole);
    expect(await work('drill', '--repo', 'team/web')).toMatchObject({ code: 0 });
    await work('run');
    expect(await look()).toEqual({ rules: [], states: good });
    await expectBadge('good, proven today');
    expect(titles()).toEqual(['Resolved: A backup could not be restored']);
  });

  it('reports a worker that has stopped, although the worker itself cannot', async () => {
    const { db } = world.database;
    await sql(
      db,
      `UPDATE backup_runs SET started_at = started_at - interval '3 hours',
         completed_at = completed_at - interval '3 hours'`,
    );
    const sweep = () =>
      fetch(`${world.server.url}/api/cron/sweep-stale-runs`, { headers: withSecret });
    expect((await sweep()).status).toBe(200);
    expect(await look()).toEqual({ rules: ['run_missed'], states: good });
    expectAlert('A backup run did not start', /^Runs start every /);
    // Three hours are less than FRESHNESS_HOURS, so the backups are still good.
    await expectBadge('good, proven today, 1 incident');
    await sweep();
    expect(titles()).toEqual([]);
    await work('run');
    expect(await look()).toEqual({ rules: [], states: good });
    expect(titles()).toEqual(['Resolved: A backup run did not start']);
  });
});
