import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watchLogin } from '../../../lib/worker/run/alerting/login-watch.ts';
import { type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';

const answers: { status?: number; headers?: Record<string, string> }[] = [];
let host: ScriptedServer;
let other: ScriptedServer;
beforeAll(async () => {
  host = await startScriptedServer(() => answers.shift() ?? {});
  other = await startScriptedServer(() => ({ status: 401 }));
});
afterAll(() => Promise.all([host.close(), other.close()]));

const expiring = (text: string) => ({
  headers: { 'github-authentication-token-expiration': text },
});
const authorized = { headers: { Authorization: 'Bearer t' } };

/** What the watch has seen after requests with these responses. */
async function seenAfter(...given: typeof answers) {
  answers.push(...given);
  const watch = watchLogin(fetch, [host.url]);
  for (const _ of given) await watch.fetch(`${host.url}/user`, authorized);
  return watch.seen();
}

describe('a login watch', () => {
  it.each([
    ['2026-12-01 12:00:00 UTC', '2026-12-01T12:00:00.000Z'],
    ['2026-12-01 12:00:00 -0430', '2026-12-01T16:30:00.000Z'],
    ['soon', null],
    ['2026-13-41 99:00:00 UTC', null],
  ])('reads the expiry %s', async (text, expiresAt) => {
    expect(await seenAfter(expiring(text))).toEqual({ expiresAt, isRefused: false });
  });

  it('keeps the earliest expiry and any refusal', async () => {
    expect(
      await seenAfter(
        expiring('2026-12-02 12:00:00 UTC'),
        { status: 401 },
        expiring('2026-12-01 12:00:00 UTC'),
        {},
      ),
    ).toEqual({ expiresAt: '2026-12-01T12:00:00.000Z', isRefused: true });
  });

  it('reports when a renewable login ends, by its latest renewal, not when its token does', async () => {
    const watch = watchLogin(fetch, [host.url]);
    watch.noteRenewable('github:source', 'before', '2026-12-02T00:00:00Z');
    watch.noteRenewable('github:source', 't', '2026-12-09T00:00:00Z');
    answers.push(expiring('2026-12-01 12:00:00 UTC'));
    await watch.fetch(`${host.url}/user`, authorized);
    expect(watch.seen()).toEqual({ expiresAt: '2026-12-09T00:00:00Z', isRefused: false });
    answers.push(expiring('2026-12-05 12:00:00 UTC'));
    await watch.fetch(`${host.url}/user`, { headers: { Authorization: 'Bearer other' } });
    expect(watch.seen()?.expiresAt).toBe('2026-12-05T12:00:00.000Z');
    watch.reset();
    answers.push(expiring('2026-12-01 12:00:00 UTC'));
    await watch.fetch(`${host.url}/user`, authorized);
    expect(watch.seen()?.expiresAt).toBe('2026-12-01T12:00:00.000Z');
  });

  it('ignores other hosts, requests without a token, and the previous run', async () => {
    const watch = watchLogin(fetch, [host.url]);
    await watch.fetch(`${other.url}/user`, authorized);
    answers.push({ status: 401 });
    await watch.fetch(`${host.url}/user`);
    expect(watch.seen()).toBeNull();
    answers.push({ status: 401 });
    await watch.fetch(new Request(`${host.url}/user`, authorized));
    expect(watch.seen()).toMatchObject({ isRefused: true });
    watch.reset();
    expect(watch.seen()).toBeNull();
  });
});
