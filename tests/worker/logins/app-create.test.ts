import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { writeApp } from '../../../lib/worker/logins/app-file.ts';
import { runLoginCommand } from '../../../lib/worker/logins/commands.ts';
import { visit } from '../../support/browser.ts';
import { openTestSession, untilSleeping, useLoginBench } from '../../support/logins.ts';

const bench = useLoginBench();
beforeEach(async () => {
  bench.host.state.manifests.set('good-code', made);
});

const made = {
  id: 7,
  slug: 'backup-of-ada',
  client_id: 'Iv1.made',
  client_secret: 'client-secret-7d1f',
  pem: '-----BEGIN RSA PRIVATE KEY-----\nprivate-key-2c9a\n-----END RSA PRIVATE KEY-----\n',
  webhook_secret: 'webhook-secret-51be',
  html_url: 'https://git.example.org/apps/backup-of-ada',
  name: 'Backup of Ada',
};
const secrets = ['client-secret-7d1f', 'private-key-2c9a', 'webhook-secret-51be'];
const appPath = () => join(bench.folder, 'app.json');
const stored = async () => JSON.parse(await readFile(appPath(), 'utf8'));

const command = { name: 'app create', appName: null, organization: null, force: false } as const;

/** Starts the command, reads its page and what its form would send. */
async function begin(
  options: Partial<{ appName: string; organization: string; force: boolean }> = {},
) {
  const opened = openTestSession(bench);
  const outcome = runLoginCommand(opened.session, { ...command, ...options });
  outcome.catch(() => undefined);
  const [, address = ''] = await Promise.race([
    opened.waitFor(/Open (http:\S+)\n/),
    outcome.then((): never => {
      throw new Error('the command ended');
    }),
  ]);
  const page = await visit(address);
  const form = (pattern: RegExp) => unescapeHtml(pattern.exec(page.text)?.[1] ?? '');
  const action = new URL(form(/<form method="post" action="([^"]*)"/));
  const manifest = JSON.parse(form(/name="manifest" value="([^"]*)"/));
  const back = (query: string) => visit(`${manifest.redirect_url}?${query}`);
  return {
    ...opened,
    outcome,
    address,
    page,
    action,
    manifest,
    back,
    state: action.searchParams.get('state'),
  };
}

function unescapeHtml(html: string): string {
  const signs: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return html.replace(/&(#?\w+);/g, (_, name: string) => signs[name] ?? '');
}

describe('app create', () => {
  it('sends a manifest of a public, read-only app without a webhook to the host', async () => {
    const { action, manifest, back, state, outcome } = await begin();
    expect(`${action.origin}${action.pathname}`).toBe(`${bench.host.url}/settings/apps/new`);
    expect(state).toMatch(/^[\w-]{32}$/);
    expect(manifest).toEqual({
      name: expect.stringMatching(/^Backup Observatory [0-9a-f]{8}$/),
      url: bench.host.url,
      redirect_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
      callback_urls: [expect.stringContaining(bench.host.url)],
      public: true,
      request_oauth_on_install: true,
      default_permissions: { contents: 'read', metadata: 'read' },
      default_events: [],
    });
    await back(`state=${state}&code=good-code`);
    await outcome;
  });

  it('uses the given organization and name', async () => {
    const appName = `A "quoted" <b>&'name'`;
    const { action, manifest, page, back, state, outcome } = await begin({
      appName,
      organization: 'team',
    });
    expect(action.pathname).toBe('/organizations/team/settings/apps/new');
    expect(manifest.name).toBe(appName);
    expect(page.text).not.toContain('<b>');
    await back(`state=${state}&code=good-code`);
    await outcome;
  });

  it('writes app.json, only for its owner, before the browser shows success', async () => {
    const { back, state, outcome, written } = await begin();
    const shown = await back(`state=${state}&code=good-code`);
    expect(await stored()).toEqual({
      id: 7,
      slug: 'backup-of-ada',
      client_id: 'Iv1.made',
      client_secret: made.client_secret,
      pem: made.pem,
      webhook_secret: made.webhook_secret,
      html_url: made.html_url,
      host: bench.host.url,
    });
    expect([(await stat(appPath())).mode & 0o777, (await stat(bench.folder)).mode & 0o777]).toEqual(
      [0o600, 0o700],
    );
    expect(shown).toMatchObject({ status: 200, text: expect.stringContaining('App created') });
    expect(await outcome).toBe(0);
    expect(written.stdout).toContain('App backup-of-ada created');
    expect(written.stderr).toContain('Enable device flow');
    expect(written.stderr).toContain(`${bench.host.url}/apps/backup-of-ada/installations/new`);
    for (const secret of secrets) {
      expect(written.stdout + written.stderr + shown.text).not.toContain(secret);
    }
  });

  it.each(['state=wrong&code=good-code', 'code=good-code'])(
    'rejects a return with %s without exchanging its code',
    async (query) => {
      const { back, state, outcome } = await begin();
      expect(await back(query)).toMatchObject({ status: 400 });
      await expect(stat(appPath())).rejects.toMatchObject({ code: 'ENOENT' });
      await back(`state=${state}&code=good-code`);
      expect(await outcome).toBe(0);
    },
  );

  it('shows its page only at the address that it printed, and only under a loopback name', async () => {
    const { address, back, state, outcome } = await begin();
    expect((await visit(new URL('/', address).href)).status).toBe(404);
    const elsewhere = await visit(address, { host: 'rebound.example.org' });
    expect(elsewhere.status).toBe(421);
    expect(elsewhere.text).not.toContain(String(state));
    expect((await visit(address, { method: 'POST' })).status).toBe(404);
    await back(`state=${state}&code=good-code`);
    await outcome;
  });

  it('shows in browser and terminal that the host rejected the code, and writes nothing', async () => {
    const { back, state, outcome } = await begin();
    const shown = await back(`state=${state}&code=bad-code`);
    expect(shown).toMatchObject({ status: 500, text: expect.stringContaining('answered 404') });
    await expect(outcome).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(stat(appPath())).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('ends when the browser does not return within 15 minutes', async () => {
    const { outcome } = await begin();
    await untilSleeping(bench);
    bench.clock.advance(15 * 60_000);
    await expect(outcome).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});

describe('an existing app.json', () => {
  const before = {
    id: 1,
    slug: 'old',
    client_id: 'Iv1.old',
    client_secret: 's',
    pem: 'p',
    webhook_secret: null,
    html_url: 'https://git.example.org/apps/old',
  };
  beforeEach(() => writeApp(bench.folder, { ...before, host: bench.host.url }, () => undefined));

  it('is not replaced, and no page is opened', async () => {
    const { session, written } = openTestSession(bench);
    await expect(runLoginCommand(session, command)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('--force'),
    });
    expect(written.stderr).toBe('');
    expect(await stored()).toMatchObject({ slug: 'old' });
  });

  it('is replaced with --force', async () => {
    const { back, state, outcome } = await begin({ force: true });
    await back(`state=${state}&code=good-code`);
    await outcome;
    expect(await stored()).toMatchObject({ slug: 'backup-of-ada' });
  });

  it('provides the client id of a login without one', async () => {
    bench.host.state.apps.set('Iv1.old', { deviceFlow: false });
    const { session } = openTestSession(bench);
    const login = {
      name: 'login github',
      login: 'github:source',
      clientId: null,
      importToken: false,
      store: 'auto',
    } as const;
    await expect(runLoginCommand(session, login)).rejects.toThrow('device_flow_disabled');
    expect(bench.host.state.requests[0]?.body).toEqual({ client_id: 'Iv1.old' });
  });

  it('has a wrong mode corrected, with a warning', async () => {
    await chmod(appPath(), 0o640);
    const { session, written } = openTestSession(bench);
    await runLoginCommand(session, { name: 'auth status', check: false, json: false });
    expect((await stat(appPath())).mode & 0o777).toBe(0o600);
    expect(written.stderr).toMatch(/^warning: .*app\.json had mode 0640/);
  });

  it('is reported without its content if it is invalid', async () => {
    await writeFile(appPath(), '{"client_secret": "hunter-22"');
    const { session } = openTestSession(bench);
    const fault = await runLoginCommand(session, {
      name: 'auth status',
      check: false,
      json: false,
    }).catch((error: Error) => error);
    expect(fault).toMatchObject({
      code: 'CREDENTIAL_STORAGE_UNAVAILABLE',
      message: expect.stringMatching(/app\.json is not valid: move it away/),
    });
    expect(inspect(fault)).not.toContain('hunter');
  });
});

it('an app that was created in the meantime is not replaced either', async () => {
  const { back, state, outcome } = await begin();
  const other = { ...made, slug: 'other', host: bench.host.url };
  await writeApp(bench.folder, other, () => undefined);
  const shown = await back(`state=${state}&code=good-code`);
  expect(shown.status).toBe(500);
  await expect(outcome).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await stored()).toMatchObject({ slug: 'other' });
});
