import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runLoginCommand } from '../../../lib/worker/logins/commands.ts';
import { visit } from '../../support/browser.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import {
  createLoginBench,
  type LoginBench,
  openTestSession,
  untilSleeping,
} from '../../support/logins.ts';
import { connectRaw } from '../../support/raw-client.ts';

let bench: LoginBench;
let gateway: Gateway;
beforeEach(async () => {
  [bench, gateway] = await Promise.all([createLoginBench(), startGateway()]);
});
afterEach(async () => {
  await Promise.all([bench.remove(), gateway.close()]);
});

const open = (options: { stdin?: string; env?: Record<string, string> } = {}) =>
  openTestSession(bench, {
    ...options,
    env: {
      GATEWAY_BASE_URL: gateway.url,
      GATEWAY_AUTHORIZE_URL: 'https://gateway.example.org/auth?lang=en',
      ...options.env,
    },
  });

/** Starts the command and reads the address that it shows. */
async function begin(options: { paste?: boolean; stdin?: string } = {}) {
  const { paste = false, ...rest } = options;
  const opened = open(rest);
  const outcome = runLoginCommand(opened.session, { name: 'login gateway', paste, store: 'auto' });
  // Awaited at the end of a test, which examines a rejection.
  outcome.catch(() => undefined);
  const [, address = ''] = await Promise.race([
    opened.waitFor(/Open (https:\S+)\n/),
    outcome.then((): never => {
      throw new Error('the command ended');
    }),
  ]);
  const page = new URL(address);
  const callback = page.searchParams.get('callback_url') ?? '';
  return { ...opened, outcome, page, callback };
}

const exchanges = () => gateway.requestsTo('/auth/keys').map(({ body }) => body);
const storedKey = async () => {
  const login = await bench.store.find('gateway:default');
  return login && (await bench.store.secretsOf('gateway:default', login)).token;
};

describe('login gateway', () => {
  it('shows the page with the challenge and a loopback callback', async () => {
    const { outcome, page, callback } = await begin();
    expect(`${page.origin}${page.pathname}`).toBe('https://gateway.example.org/auth');
    expect(page.searchParams.get('lang')).toBe('en');
    expect(page.searchParams.get('code_challenge_method')).toBe('S256');
    expect(page.searchParams.get('code_challenge')).toMatch(/^[\w-]{43}$/);
    expect(page.searchParams.has('state')).toBe(false);
    expect(callback).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\?state=[\w-]{32}$/);
    await visit(`${callback}&code=abc`);
    await outcome;
  });

  it('exchanges the code with its verifier and stores the key before the browser shows success', async () => {
    const { outcome, page, callback, written } = await begin();
    const shown = await visit(`${callback}&code=the-code`);
    expect(await storedKey()).toBe(gateway.issuedKey);
    expect(shown.status).toBe(200);
    expect(shown.text).toContain('Logged in to the model gateway');
    expect(await outcome).toBe(0);
    const [body] = exchanges();
    expect(body).toMatchObject({ code: 'the-code', code_challenge_method: 'S256' });
    expect(hash('sha256', String(body?.code_verifier), 'base64url')).toBe(
      page.searchParams.get('code_challenge'),
    );
    expect(written.stdout).toBe('Logged in to the model gateway: key kept in the keychain.\n');
    expect(written.stdout + written.stderr + shown.text).not.toContain(gateway.issuedKey);
  });

  it('creates a new state and challenge each time', async () => {
    const [first, second] = [await begin(), await begin()];
    expect(first.page.searchParams.get('code_challenge')).not.toBe(
      second.page.searchParams.get('code_challenge'),
    );
    expect(new URL(first.callback).search).not.toBe(new URL(second.callback).search);
    for (const { callback, outcome } of [first, second]) {
      await visit(`${callback}&code=c`);
      await outcome;
    }
  });

  it.each(['state=wrong&code=c', 'code=c', 'state=&code=c'])(
    'rejects a redirect with %s, and keeps waiting for the right one',
    async (query) => {
      const { outcome, callback } = await begin();
      const shown = await visit(`${callback.split('?')[0]}?${query}`);
      expect(shown).toMatchObject({ status: 400, text: expect.stringContaining('Wrong state') });
      expect(exchanges()).toEqual([]);
      await visit(`${callback}&code=right`);
      expect(await outcome).toBe(0);
      expect(exchanges()).toMatchObject([{ code: 'right' }]);
    },
  );

  it.each(['example.org', '127.0.0.1', '127.0.0.1:1', '127.0.0.1.example.org:80'])(
    'rejects a redirect to the host %j',
    async (host) => {
      const { outcome, callback } = await begin();
      const shown = await visit(`${callback}&code=c`, { host });
      expect(shown.status).toBe(421);
      expect(exchanges()).toEqual([]);
      await visit(`${callback}&code=right`, { host: `localhost:${new URL(callback).port}` });
      expect(await outcome).toBe(0);
    },
  );

  it.each(['//', 'http://[', 'http://127.0.0.1:99999/'])(
    'keeps waiting after a request for %s, which is not an address',
    async (target) => {
      const { outcome, callback } = await begin();
      const { host, port } = new URL(callback);
      const client = await connectRaw(Number(port));
      client.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(await client.ended()).toMatch(/^HTTP\/1\.1 404 /);
      await visit(`${callback}&code=c`);
      expect(await outcome).toBe(0);
    },
  );

  it('rejects a second redirect with the same state', async () => {
    const { outcome, callback } = await begin();
    gateway.script('/auth/keys', { instead: 'hang' });
    const first = visit(`${callback}&code=one`).catch(() => null);
    while (exchanges().length === 0) await new Promise((done) => setImmediate(done));
    const second = await visit(`${callback}&code=two`);
    expect(second).toMatchObject({ status: 410, text: expect.stringContaining('already used') });
    // The exchange that hangs ends by its own limit.
    await untilSleeping(bench, 2);
    bench.clock.advance(30_000);
    await first;
    await expect(outcome).rejects.toMatchObject({ code: 'GATEWAY_EXCHANGE_UNAVAILABLE' });
    expect(exchanges()).toHaveLength(1);
  });

  it('shows in browser and terminal that the gateway rejected the code', async () => {
    const { outcome, callback } = await begin();
    gateway.script('/auth/keys', { status: 400, body: { error: 'bad code' } });
    const shown = await visit(`${callback}&code=bad`);
    expect(shown).toMatchObject({ status: 500, text: expect.stringContaining('refused the code') });
    await expect(outcome).rejects.toMatchObject({ code: 'GATEWAY_EXCHANGE_FAILED' });
    expect(await storedKey()).toBeNull();
  });

  it('ends when the user denies it on the page', async () => {
    const { outcome, callback } = await begin();
    await visit(`${callback}&error=access_denied`);
    await expect(outcome).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  it('ends when the browser does not return within 15 minutes', async () => {
    const { outcome } = await begin();
    await untilSleeping(bench);
    bench.clock.advance(15 * 60_000);
    await expect(outcome).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('15 minutes'),
    });
  });

  it('answers with headers that keep the page from being framed, stored or followed', async () => {
    const { outcome, callback } = await begin();
    const shown = await visit(`${callback}&code=c`);
    expect(shown.headers).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    await outcome;
  });

  it.each(['GATEWAY_AUTH_URL', 'GATEWAY_AUTHORIZE_URL', 'GATEWAY_BASE_URL'])(
    'rejects %s over plain http',
    async (name) => {
      const { session } = open({ env: { [name]: 'http://gateway.example.org/x' } });
      await expect(
        runLoginCommand(session, { name: 'login gateway', paste: false, store: 'auto' }),
      ).rejects.toThrow(`${name} must be an https URL`);
    },
  );
});

describe('login gateway --paste', () => {
  it('reads the code from stdin', async () => {
    const { outcome } = await begin({ paste: true, stdin: 'pasted-code\nmore\n' });
    expect(await outcome).toBe(0);
    expect(exchanges()).toMatchObject([{ code: 'pasted-code' }]);
    expect(await storedKey()).toBe(gateway.issuedKey);
  });

  it("accepts the address of the browser's last page, with its state", async () => {
    const { session, waitFor } = open();
    // The state is known only from the address that is shown.
    const askSecret = async () => {
      const [, address = ''] = await waitFor(/Open (https:\S+)\n/);
      return `${new URL(address).searchParams.get('callback_url')}&code=in-address`;
    };
    const person = { ...session.person, askSecret };
    const command = { name: 'login gateway', paste: true, store: 'auto' } as const;
    expect(await runLoginCommand({ ...session, person }, command)).toBe(0);
    expect(exchanges()).toMatchObject([{ code: 'in-address' }]);
  });

  it.each([
    ['http://127.0.0.1:50000/callback?state=wrong&code=c\n', 'wrong state'],
    ['\n', 'sent no code'],
    ['', 'sent no code'],
  ])('rejects %j', async (stdin, message) => {
    const { outcome } = await begin({ paste: true, stdin });
    await expect(outcome).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(message),
    });
    expect(exchanges()).toEqual([]);
  });
});

describe('auth token gateway', () => {
  it('prints the key and nothing else', async () => {
    const { outcome, callback } = await begin();
    await visit(`${callback}&code=c`);
    await outcome;
    const { session, written } = open();
    expect(await runLoginCommand(session, { name: 'auth token gateway' })).toBe(0);
    expect(written).toEqual({ stdout: `${gateway.issuedKey}\n`, stderr: '' });
    expect(await readFile(bench.store.path, 'utf8')).not.toContain(gateway.issuedKey);
  });

  it('says how to log in when there is no key', async () => {
    const { session } = open();
    await expect(runLoginCommand(session, { name: 'auth token gateway' })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('npm run worker -- login gateway'),
    });
  });
});
