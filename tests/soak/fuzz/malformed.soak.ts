import { existsSync, readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectRaw, type RawClient } from '../../support/raw-client.ts';
import { seed, times } from '../size.ts';
import { conversations, type RawConversation } from './raw-requests.ts';
import { startFuzzWorld } from './world.ts';

// Invalid or barely valid HTTP. The tests of lib/http/server/serve.ts cover known cases; here they are generated and sent to
// the whole server.

const CONVERSATIONS = times(250, 100_000);
const AT_ONCE = 10;
/** Clients that send a byte now and then, and never finish. */
const SLOW_CLIENTS = 40;
/** The read timeout of 15 seconds, plus what a busy machine adds. */
const SLOW_END_MS = 25_000;

let world: Awaited<ReturnType<typeof startFuzzWorld>>;
beforeAll(async () => {
  world = await startFuzzWorld('postgres');
});
afterAll(async () => {
  expect(await world?.close()).toBe(0);
});

describe('malformed connections', () => {
  it(`are rejected or cut: ${CONVERSATIONS} of them, including slow ones`, async () => {
    const { port } = world.server;
    const slow = await Promise.all(Array.from({ length: SLOW_CLIENTS }, (_, n) => dawdle(port, n)));
    const property = fc.asyncProperty(
      fc.array(conversations, { minLength: AT_ONCE, maxLength: AT_ONCE }),
      async (batch) => {
        await Promise.all(batch.map((one) => converse(port, one)));
        await expectHealth();
      },
    );
    await fc.assert(property, { seed, numRuns: CONVERSATIONS / AT_ONCE });
    for (const { ended } of slow) {
      const { text, afterMs } = await ended;
      expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(afterMs).toBeLessThan(SLOW_END_MS);
    }
  });

  it('leave no connection behind', async ({ skip }) => {
    skip(!existsSync('/proc/net/tcp'), 'this system does not list its connections in /proc');
    await vi.waitFor(() => expect(openConnections(world.server.port)).toBe(0), { timeout: 10_000 });
  });

  it('leave no failures in the log', () => {
    expect(world.server.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

/** Sends the bytes and waits for the server to end the connection. Throws for an invalid answer. */
async function converse(port: number, { bytes, cuts, ending }: RawConversation): Promise<void> {
  const client = await connectRaw(port);
  const places = [...cuts, 1]
    .map((share) => Math.floor(share * bytes.length))
    .sort((a, b) => a - b);
  let sent = 0;
  for (const place of places) {
    client.send(bytes.slice(sent, place));
    sent = place;
    await turn();
  }
  if (ending === 'destroy') {
    client.socket.destroy();
    return;
  }
  client.socket.end();
  // The server may cut a client that is still sending; what came until then counts.
  const cut = client.ended().catch(() => client.received());
  const text = await within(30_000, cut);
  if (text === '') return;
  const answers = text.split(/^(?=HTTP\/1\.1 \d{3} )/m);
  for (const answer of answers) {
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(answer) ?? [];
    if (status === undefined || status.startsWith('5')) throw new Error(`answered ${answer}`);
    if (status !== '100' && !/^x-request-id: [\w.-]{1,64}\r$/im.test(answer)) {
      throw new Error(`answered without a request id: ${answer}`);
    }
  }
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not ended in ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

interface SlowClient {
  ended: Promise<{ text: string; afterMs: number }>;
}

/** Half of the clients dawdle in their headers, half in a body. */
async function dawdle(port: number, number: number): Promise<SlowClient> {
  const client: RawClient = await connectRaw(port);
  const startedAt = performance.now();
  client.send('POST /auth/login HTTP/1.1\r\nHost: localhost\r\n');
  if (number % 2 === 0) {
    client.send('Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n');
  }
  const timer = setInterval(() => client.send('x'), 500);
  const ended = client.ended().then((text) => {
    clearInterval(timer);
    return { text, afterMs: performance.now() - startedAt };
  });
  return { ended };
}

async function expectHealth(): Promise<void> {
  const response = await fetch(`${world.server.url}/health`, { headers: { Connection: 'close' } });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

/** The connections of a local port that have not ended on both sides. */
function openConnections(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const [established, closeWait] = ['01', '08'];
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local = '', , state]) =>
        local.endsWith(`:${hex}`) && (state === established || state === closeWait),
    ).length;
}
