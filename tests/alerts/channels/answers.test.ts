import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChannelError } from '../../../lib/channels/channel.ts';
import { channelKinds } from '../../../lib/channels/kinds.ts';
import {
  addressesAt,
  leadTo,
  makeMessage,
  openChannel,
  patient,
  SECRETS,
} from '../../support/alert-channels.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../../support/scripted-server.ts';

// What happens to a message that its service does not accept.

const kinds = channelKinds.map(({ kind }) => kind).filter((kind) => kind !== 'mail');
let server: ScriptedServer;
let answer: ScriptedAnswer;

beforeEach(async () => {
  answer = { status: 200 };
  server = await startScriptedServer(() => answer);
});
afterEach(() => server.close());

/** Sends a message and returns the error. */
async function failureOf(
  address: string,
  { signal = patient, fetch = globalThis.fetch } = {},
): Promise<ChannelError> {
  const channel = await openChannel(address, { fetch });
  const failure = await channel.send(makeMessage(), signal).then(
    () => new Error('it was sent'),
    (error: unknown) => error,
  );
  if (!(failure instanceof ChannelError)) throw failure;
  for (const secret of [...SECRETS, new URL(server.url).host]) {
    expect(`${failure.stack} ${JSON.stringify(failure)}`).not.toContain(secret);
  }
  expect(failure.cause).toBeUndefined();
  return failure;
}

const at = (kind: string) => addressesAt(server)[kind] ?? '';

describe.each(kinds)('a message through %s', (kind) => {
  it.each([400, 401, 403, 404, 410, 413])('is given up after a refusal with %i', async (status) => {
    answer = { status, body: { message: `${SECRETS.join()} is internal` } };
    const failure = await failureOf(at(kind));
    // The answer may come from any server.
    expect(failure.message).toMatch(new RegExp(` answered ${status}$`));
    expect(failure).toMatchObject({ retryable: false, mayHaveArrived: false });
  });

  it.each([500, 502, 503])('can be retried after a fault with %i', async (status) => {
    answer = { status, body: 'Internal Server Error' };
    const failure = await failureOf(at(kind));
    expect(failure.message).toMatch(new RegExp(` answered ${status}$`));
    expect(failure).toMatchObject({ retryable: true, mayHaveArrived: true });
    expect(failure.retryAfterMs).toBeUndefined();
  });

  it.each([429, 503])('has not arrived after a %i that asks to wait', async (status) => {
    answer = { status, headers: { 'Retry-After': '31' } };
    const wanted = { retryable: true, retryAfterMs: 31_000, mayHaveArrived: false };
    expect(await failureOf(at(kind))).toMatchObject(wanted);
  });

  it('follows no redirect', async () => {
    answer = { status: 307, headers: { Location: `${server.url}/elsewhere` } };
    const failure = await failureOf(at(kind));
    expect(failure.message).toMatch(/ answered with a redirect \(307\), which is not followed$/);
    expect(failure).toMatchObject({ retryable: false, mayHaveArrived: false });
    expect(server.received).toHaveLength(1);
  });

  it('is abandoned without an answer when the signal aborts', async () => {
    const stop = new AbortController();
    answer = () => stop.abort(new DOMException('too slow', 'TimeoutError'));
    const failure = await failureOf(at(kind), { signal: stop.signal });
    expect(failure.message).toMatch(/ did not answer in time$/);
    expect(failure).toMatchObject({ retryable: true, mayHaveArrived: true });
  });

  it('may have arrived if the connection breaks', async () => {
    answer = (response) => response.destroy();
    const failure = await failureOf(at(kind));
    expect(failure.message).toMatch(/ cannot be reached/);
    expect(failure).toMatchObject({ retryable: true, mayHaveArrived: true });
  });

  it('has not arrived if nothing listens at the address', async () => {
    const failure = await failureOf(at(kind), { fetch: reachNobody });
    expect(failure.message).toMatch(/ cannot be reached \(ECONNREFUSED\)$/);
    expect(failure).toMatchObject({ retryable: true, mayHaveArrived: false });
  });

  it('is sent even if the answer never ends', async () => {
    let isOpen = true;
    answer = (response) => {
      response.on('close', () => {
        isOpen = false;
      });
      const more = () => {
        if (isOpen && response.write('x'.repeat(65_536))) setImmediate(more);
      };
      response.on('drain', more);
      response.writeHead(200);
      more();
    };
    const channel = await openChannel(at(kind));
    await expect(channel.send(makeMessage(), patient)).resolves.toBeUndefined();
  });

  it('is refused even if the answer is huge', async () => {
    answer = { status: 400, body: 'x'.repeat(5_000_000) };
    expect((await failureOf(at(kind))).message).toMatch(/ answered 400$/);
  });
});

describe('a refusal of Matrix', () => {
  it.each([
    [401, 'M_UNKNOWN_TOKEN', 'the access token is not valid (any more)'],
    [
      403,
      'M_FORBIDDEN',
      'the user of the token is not in the room, or may not send messages to it',
    ],
    [404, 'M_NOT_FOUND', 'there is no such room'],
    [429, 'M_LIMIT_EXCEEDED', 'too many messages were sent'],
  ])('is explained by its code: %i %s', async (status, errcode, reason) => {
    answer = { status, body: { errcode, error: SECRETS.join() } };
    expect((await failureOf(at('matrix'))).message).toBe(`Matrix answered ${status}: ${reason}`);
  });

  it.each(['constructor', '__proto__', 'M_UNKNOWN', 7])(
    'is not explained by %s',
    async (errcode) => {
      answer = { status: 403, body: { errcode, error: 'internal' } };
      expect((await failureOf(at('matrix'))).message).toBe('Matrix answered 403');
    },
  );
});

/** Calls a port on which nothing listens. */
const reachNobody: typeof fetch = (_input, init) => fetch('http://127.0.0.1:1023/', init);

describe('the requested wait', () => {
  it.each([
    ['a date', { 'Retry-After': 'Wed, 04 Mar 2026 05:07:00 GMT' }, '', 60_000],
    ['a date that has passed', { 'Retry-After': 'Wed, 04 Mar 2026 05:05:00 GMT' }, '', 0],
    ['a year', { 'Retry-After': '31536000' }, '', 86_400_000],
    ['nonsense', { 'Retry-After': 'soon' }, '', undefined],
    ['a fraction in the body, of Discord', {}, { retry_after: 1.5 }, 1_500],
    ['a number in the body, of Telegram', {}, { parameters: { retry_after: 35 } }, 35_000],
    ['milliseconds in the body, of Matrix', {}, { retry_after_ms: 2_500 }, 2_500],
    ['nothing', {}, {}, undefined],
    ['a body that is no object', {}, 'null', undefined],
  ])('may be %s', async (_form, headers, body, expected) => {
    answer = { status: 429, headers, body };
    expect((await failureOf(at('telegram'))).retryAfterMs).toBe(expected);
  });
});

describe('a public service', () => {
  const said = (address: string) => failureOf(address, { fetch: leadTo(server) });
  const telegram = `tgram://${SECRETS[2]}/-100200300`;

  it.each([
    [
      telegram,
      { ok: false, description: 'Bad Request: chat not found' },
      'Telegram answered 400: Bad Request: chat not found',
    ],
    [`slack://T000000/B000000/${SECRETS[0]}`, 'no_service', 'Slack answered 400: no_service'],
    [
      `discord://112233445566/${SECRETS[1]}`,
      { message: 'Unknown Webhook', code: 10015 },
      'Discord answered 400: Unknown Webhook',
    ],
    [
      'ntfy://my-secret-topic',
      { error: 'topic is reserved' },
      'ntfy answered 400: topic is reserved',
    ],
  ])('gives its reason: %s', async (address, body, message) => {
    answer = { status: 400, body };
    expect((await said(address)).message).toBe(message);
  });

  it('is not quoted if its answer contains the secret or is a page, and never at length', async () => {
    answer = { status: 400, body: { description: `no bot has ${SECRETS[2]}` } };
    expect((await said(telegram)).message).toBe('Telegram answered 400');
    answer = { status: 400, body: { description: `${'-'.repeat(140)} ${SECRETS[2]}` } };
    expect((await said(telegram)).message).toBe('Telegram answered 400');
    answer = { status: 400, body: '<html><body>Bad Request</body></html>' };
    expect((await said(telegram)).message).toBe('Telegram answered 400');
    answer = { status: 400, body: { description: 'long '.repeat(200) } };
    expect((await said(telegram)).message.length).toBeLessThan(200);
  });
});

it('an Apprise API with nothing under the key has not accepted the message', async () => {
  answer = { status: 204 };
  const failure = await failureOf(at('apprise'));
  expect(failure.message).toBe('the Apprise API has nothing under this key');
  expect(failure).toMatchObject({ retryable: false, mayHaveArrived: false });
});

it('a message can be retried if an Apprise API failed in part', async () => {
  answer = { status: 424 };
  const failure = await failureOf(at('apprise'));
  expect(failure).toMatchObject({ retryable: true, mayHaveArrived: true });
});
