import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { AppError } from '../../../lib/errors.ts';
import { RunStopped } from '../../../lib/worker/base/stop.ts';
import { authorizeDevice } from '../../../lib/worker/logins/device-flow.ts';
import type { PollAnswer } from '../../support/git-host/state.ts';
import { openTestSession, untilSleeping, useLoginBench } from '../../support/logins.ts';

const APP = 'Iv1.standin';
const bench = useLoginBench();

const polls = () =>
  bench.host.state.requests.filter(({ path }) => path === '/login/oauth/access_token');

/** Runs the flow and moves the clock second by second until it ends. */
async function authorize(clientId = APP) {
  const { session, written } = openTestSession(bench);
  let isOver = false;
  const outcome = authorizeDevice(session, clientId)
    .then(
      (token) => ({ token, error: null }),
      (error: AppError) => ({ token: null, error }),
    )
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    await new Promise((done) => setImmediate(done));
    if (bench.clock.sleepers() > 0) bench.clock.advance(1_000);
  }
  return { ...(await outcome), written };
}

/** Seconds between one poll and the next, the first counted from the start. */
const pausesOf = (start: number) => {
  const times = [start, ...polls().map(({ at }) => at)];
  return times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1_000);
};

describe('the device flow', () => {
  it('shows the address and the code, polls at the requested interval, and returns the token', async () => {
    const start = bench.clock.now();
    bench.host.state.polls.push(
      { error: 'authorization_pending' },
      { error: 'authorization_pending' },
    );
    bench.host.state.interval = 7;
    const approved = untilSleeping(bench).then(() => bench.host.approve('ada'));
    const { token, written } = await authorize();
    await approved;
    expect(written.stderr).toContain(`Open   ${bench.host.url}/login/device\n`);
    expect(written.stderr).toContain('Enter  WDJB-MJHT   (valid for 15 minutes)\n');
    expect(pausesOf(start)).toEqual([7, 7, 7]);
    expect(bench.host.state.tokens.has(token?.token ?? '')).toBe(true);
    expect(Date.parse(token?.expires_at ?? '')).toBe(bench.clock.now() + 8 * 3_600_000);
    expect(polls()[0]?.body).toMatchObject({ client_id: APP, device_code: expect.any(String) });
  });

  it.each<[string, PollAnswer[], number[]]>([
    ['slow_down without an interval', [{ error: 'slow_down' }], [5, 10, 10]],
    ['slow_down with an interval', [{ error: 'slow_down', interval: 20 }], [5, 20, 20]],
    ['slow_down twice', [{ error: 'slow_down' }, { error: 'slow_down' }], [5, 10, 15, 15]],
    ['429 with Retry-After, once', [{ status: 429, retryAfter: 30 }], [5, 30, 5]],
    ['429 without', [{ status: 429 }], [5, 5, 5]],
    ['500 and 503', [{ status: 500 }, { status: 503 }], [5, 5, 5, 5]],
    ['503 with a code of its own', [{ status: 503, error: 'server_error' }], [5, 5, 5]],
    ['429 with a code of its own', [{ status: 429, error: 'rate_limited' }], [5, 5, 5]],
    ['an answer of something else, as of a wrong proxy', [{ status: 200 }], [5, 5, 5]],
    ['slow_down as 429', [{ status: 429, error: 'slow_down' }], [5, 10, 10]],
  ])('continues after %s', async (_what, answers, pauses) => {
    const start = bench.clock.now();
    bench.host.state.polls.push(...answers, { error: 'authorization_pending' });
    const approved = untilSleeping(bench).then(() => bench.host.approve('ada'));
    const { token } = await authorize();
    await approved;
    expect(token).not.toBeNull();
    expect(pausesOf(start)).toEqual(pauses);
  });

  it.each([
    ['access_denied', 'UNAUTHORIZED', /login was denied: log in again/],
    ['expired_token', 'UNAUTHORIZED', /code has expired: log in again/],
    ['incorrect_device_code', 'UNAUTHORIZED', /code has expired: log in again/],
    ['incorrect_client_credentials', 'BAD_REQUEST', /client id.*check --client-id/],
    ['device_flow_disabled', 'BAD_REQUEST', /enable device flow in the app's settings/],
    ['unheard_of', 'UNAUTHORIZED', /rejected the login \(unheard_of\)/],
  ])('ends at %s with advice', async (fault, code, message) => {
    bench.host.state.polls.push({ error: fault });
    const { error } = await authorize();
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(polls()).toHaveLength(1);
  });

  it('ends when the code is not entered within 15 minutes', async () => {
    const start = bench.clock.now();
    const { error } = await authorize();
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('expired'),
    });
    expect(bench.clock.now() - start).toBe(15 * 60_000);
  });

  it('says before any code is shown that the app does not allow it', async () => {
    bench.host.state.apps.set('Iv1.other', { deviceFlow: false });
    const { error, written } = await authorize('Iv1.other');
    expect(error?.message).toMatch(/device_flow_disabled.*enable device flow/);
    expect(written.stderr).toBe('');
  });

  it('says that the host does not know the client id', async () => {
    const { error } = await authorize('Iv1.unknown');
    expect(error).toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.stringContaining('incorrect_client_credentials'),
    });
  });

  it('ends at once when it is interrupted', async () => {
    const interrupt = new AbortController();
    const { session } = openTestSession(bench, { signal: interrupt.signal });
    const outcome = authorizeDevice(session, APP);
    await untilSleeping(bench);
    interrupt.abort(new RunStopped('interrupted by SIGINT'));
    await expect(outcome).rejects.toThrow('interrupted by SIGINT');
  });
});

it('an address of another host is not shown: the code would go there', async () => {
  const page = `${bench.host.url}/login/device`;
  const { session, written, waitFor } = openTestSession(bench, {});
  const lying: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const text = (await response.text()).replace(page, 'https://phishing.example.org/');
    return new Response(text, { status: response.status, headers: response.headers });
  };
  const interrupt = new AbortController();
  const connection = { ...session.connection, fetch: lying, signal: interrupt.signal };
  const outcome = authorizeDevice({ ...session, connection, signal: interrupt.signal }, APP);
  await waitFor(/Open/);
  await untilSleeping(bench);
  interrupt.abort(new RunStopped('enough'));
  await expect(outcome).rejects.toThrow('enough');
  expect(written.stderr).toContain(page);
  expect(written.stderr).not.toContain('phishing');
});

it('the device flow does not follow a redirect, because the codes are only for the host', async () => {
  const redirecting = createServer((request, response) => {
    response.writeHead(307, { Location: `${bench.host.url}${request.url}` }).end();
  }).listen(0, '127.0.0.1');
  await once(redirecting, 'listening');
  const { session } = openTestSession(bench);
  const hostUrl = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
  const connection = { ...session.connection, hostUrl };
  await expect(authorizeDevice({ ...session, connection }, APP)).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  });
  expect(bench.host.state.requests).toEqual([]);
  redirecting.close();
});
