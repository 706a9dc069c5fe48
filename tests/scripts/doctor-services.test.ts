import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import { examineWith } from '../support/doctor.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { type ScriptedAnswer, startScriptedServer } from '../support/scripted-server.ts';

/** Keeps the doctor from looking for anything on this machine that a test does not name. */
const nothingElse = {
  INTERNAL_SECRET: 'i'.repeat(40),
  PORT: '0',
  EMBEDDED_DB_PORT: '0',
  DATA_DIR: '/tmp/there-is-none',
};
const local = { isHosted: false };

describe('the model gateway', () => {
  let gateway: Gateway;
  beforeEach(async () => {
    gateway = await startGateway();
  });
  afterEach(() => gateway.close());

  const [first, second] = ['sk-or-v1-first-key-of-tests', 'sk-or-v1-second-key-of-tests'];
  const ask = async (environment: Record<string, string> = {}) => {
    const { report, of } = await examineWith(
      {
        ...nothingElse,
        GATEWAY_BASE_URL: gateway.url,
        GATEWAY_API_KEYS: `${first},${second}`,
        GATEWAY_MODEL: 'acme/chat-paid',
        ...environment,
      },
      local,
    );
    return { ok: report.ok, text: JSON.stringify(report), check: of('gateway') };
  };

  it('is not contacted if it is not configured', async () => {
    const { report, of } = await examineWith(nothingElse, local);
    expect(report.ok).toBe(true);
    expect(of('gateway')).toMatchObject({ status: 'off', effect: 'limits' });
  });

  it('lists its models, without calls that cost anything', async () => {
    gateway.script('/key', { status: 200, body: {} }, { status: 200, body: {} });
    expect((await ask()).check).toMatchObject({
      status: 'ok',
      detail: '4 models, 2 keys of the server',
      latency_ms: expect.any(Number),
    });
    expect(gateway.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('passes if it offers no way to check a key', async () => {
    expect((await ask()).check.status).toBe('ok');
  });

  it.each([
    ['one key', [first], 'warning', '1 of 2 keys of GATEWAY_API_KEYS were rejected', '1'],
    ['the other key', [second], 'warning', '1 of 2 keys of GATEWAY_API_KEYS were rejected', '2'],
    [
      'all keys',
      [first, second],
      'failed',
      '2 of 2 keys of GATEWAY_API_KEYS were rejected',
      '1, 2',
    ],
  ])('is reported to reject %s', async (_where, keys, status, detail, numbers) => {
    for (const key of keys) gateway.refusedKeys.set(key, 401);
    const { ok, text, check } = await ask();
    expect(check).toMatchObject({ status, detail });
    expect(check.next).toMatch(new RegExp(`: ${numbers}$`));
    expect(ok).toBe(status !== 'failed');
    for (const key of [first, second]) expect(text).not.toContain(key);
  });

  it.each([
    ['is not set', '', /no default model/],
    ['is not listed', 'acme/gone', /GATEWAY_MODEL is not one of them$/],
  ])('gets a warning if the default model %s', async (_what, GATEWAY_MODEL, detail) => {
    const { check } = await ask({ GATEWAY_MODEL });
    expect(check).toMatchObject({ status: 'warning', effect: 'limits' });
    expect(check.detail).toMatch(detail);
  });

  it.each([
    ['cuts the connection', { instead: 'reset' as const }],
    ['fails', { status: 503 }],
  ])('fails the examination if it %s', async (_what, answer) => {
    gateway.always = answer;
    const { ok, check } = await ask();
    expect(ok).toBe(false);
    expect(check).toMatchObject({ status: 'failed', detail: expect.stringContaining(gateway.url) });
  });
});

describe('the mail service', () => {
  const configured = {
    ...nothingElse,
    RESEND_API_KEY: 're_key_of_tests_0123456789',
    SMTP_FROM: 'Backups <backups@example.com>',
    SMTP_TO: 'ops@example.com',
  };
  const ask = async (answer: ScriptedAnswer) => {
    const service = await startScriptedServer(() => answer);
    const { report, of } = await examineWith(
      { ...configured, RESEND_BASE_URL: service.url },
      local,
    );
    await service.close();
    return { ok: report.ok, check: of('mail'), received: service.received };
  };
  const domains = (name: string, status: string) => ({ body: { data: [{ name, status }] } });

  it('accepts the key, and sends nothing', async () => {
    const { check, received } = await ask(domains('example.com', 'verified'));
    expect(check).toMatchObject({
      status: 'ok',
      detail: 'key accepted',
      latency_ms: expect.any(Number),
    });
    expect(received).toMatchObject([
      {
        method: 'GET',
        path: '/domains',
        headers: { authorization: `Bearer ${configured.RESEND_API_KEY}` },
      },
    ]);
  });

  it('accepts a key that can only send', async () => {
    const body = { statusCode: 401, name: 'restricted_api_key', message: 'only send emails' };
    expect((await ask({ status: 401, body })).check).toMatchObject({
      status: 'ok',
      detail: 'key accepted, for sending only',
    });
  });

  it.each([
    ['another domain', domains('example.org', 'verified')],
    ['a domain that is not verified', domains('example.com', 'pending')],
  ])('gets a warning if it has only %s', async (_what, answer) => {
    expect((await ask(answer)).check).toMatchObject({
      status: 'warning',
      detail: 'key accepted, but example.com is not one of its verified domains',
    });
  });

  it.each([
    [
      401,
      { name: 'validation_error', message: 'API key is invalid' },
      'RESEND_API_KEY was rejected',
    ],
    [503, 'down', /answered 503$/],
    [200, '<html>', /answered 200$/],
  ])('fails the examination if it responds with %i %j', async (status, body, detail) => {
    const { ok, check } = await ask({ status, body });
    expect(ok).toBe(false);
    expect(check.status).toBe('failed');
    expect(check.detail).toMatch(detail);
  });

  it.each(['RESEND_API_KEY', 'SMTP_FROM', 'SMTP_TO'])('fails without %s', async (name) => {
    const { report, of } = await examineWith({ ...configured, [name]: '' }, local);
    expect(report.ok).toBe(false);
    expect(of('mail')).toMatchObject({ status: 'failed', next: `set ${name}` });
  });
});

it('the doctor gives up on services that do not respond, each with its own time limit', async () => {
  const gateway = await startGateway();
  gateway.always = { instead: 'hang' };
  const mail = await startScriptedServer(() => () => undefined);
  const clock = createTestClock();
  const examining = examineWith(
    {
      ...nothingElse,
      GATEWAY_BASE_URL: gateway.url,
      GATEWAY_API_KEYS: 'sk-or-v1-first-key-of-tests',
      RESEND_API_KEY: 're_key_of_tests_0123456789',
      RESEND_BASE_URL: mail.url,
      SMTP_FROM: 'backups@example.com',
      SMTP_TO: 'ops@example.com',
    },
    { ...local, clock },
  );
  await vi.waitUntil(() => gateway.requests.length === 2 && mail.received.length === 1);
  clock.advance(8_000);
  const { report, of } = await examining;
  await Promise.all([gateway.close(), mail.close()]);
  expect(report.ok).toBe(false);
  expect(of('gateway').detail).toMatch(/: no answer within 8000 ms$/);
  expect(of('mail').detail).toMatch(/: no answer within 5000 ms$/);
});
