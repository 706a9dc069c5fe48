import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ChatStream } from '../../../lib/observatory/chat/chat-stream.ts';
import { readMessages, scriptChat, waitFor } from '../../support/chat.ts';
import { setUpChat } from '../../support/chat-world.ts';
import { untilAsleep } from '../../support/live.ts';
import { askRaw } from '../../support/raw-question.ts';

// A client that asks but does not read costs a bounded amount of memory, for a bounded time.

describe('an event stream', () => {
  const token = (characters: number) => ({ type: 'token', text: 'x'.repeat(characters) }) as const;
  /** Has it settled once all work that needs no time is done? */
  const isSettled = (work: Promise<unknown>) =>
    Promise.race([
      work.then(() => true),
      new Promise<false>((resolve) => setImmediate(() => resolve(false))),
    ]);

  it('buffers 64 KiB and then waits for the client', async () => {
    const stream = new ChatStream(new AbortController().signal);
    const { signal } = new AbortController();
    expect(await isSettled(stream.send(token(60_000), signal))).toBe(true);
    const second = stream.send(token(60_000), signal);
    expect(await isSettled(second)).toBe(false);
    const reader = stream.body.getReader();
    await reader.read();
    await reader.read();
    await second;
  });

  it('stops waiting when the turn ends', async () => {
    const stream = new ChatStream(new AbortController().signal);
    const turn = new AbortController();
    const sent = stream.send(token(70_000), turn.signal);
    expect(await isSettled(sent)).toBe(false);
    turn.abort();
    await sent;
  });

  it('accepts events without waiting when the client left before it read anything', async () => {
    const client = new AbortController();
    const stream = new ChatStream(client.signal);
    client.abort();
    expect(stream.gone.aborted).toBe(true);
    const { signal } = new AbortController();
    expect(await isSettled(stream.send(token(70_000), signal))).toBe(true);
    stream.close();
  });
});

describe('a client that does not read', () => {
  const chat = setUpChat();

  // Far more than the operating system buffers for a Unix socket: about 0.5 MB.
  const calls = Array.from({ length: 3 }, (_, n) => ({
    id: `call_${n}`,
    name: 'nothing',
    args: { padding: 'x'.repeat(290_000) },
  }));
  const steps = Array.from({ length: 11 }, () => ({ calls }));

  /** Asks over a connection that is read only on demand. Resolves when the connection is full. */
  async function askUnread() {
    const { client, response } = await askRaw(chat.server, '/chat/stream');
    client.socket.pause();
    // `until` leaves a listener behind for every chunk.
    client.socket.setMaxListeners(0);
    await untilFull(response);
    return client;
  }

  it('holds its turn up until the deadline, which stores it and disconnects the client', async () => {
    scriptChat(chat.gateway, ...steps);
    const client = await askUnread();
    const asked = chat.gateway.requestsTo('/chat/completions').length;
    expect(asked).toBeLessThan(steps.length);
    chat.server.deps.clock.advance(280_000);
    await chat.server.deps.settled();
    const [, turn] = await readMessages(chat.database.db);
    expect(turn).toMatchObject({ status: 'failed', content: '' });
    expect(turn?.tool_calls.length).toBeLessThanOrEqual(asked * calls.length);
    // The time it has to read the rest.
    await untilAsleep(chat.server.deps, 1);
    chat.server.deps.clock.advance(60_000);
    await untilAsleep(chat.server.deps, 0);
    client.socket.resume();
    expect(await client.ended()).not.toContain('"type":"done"');
  });

  it('gets the complete rest if it resumes reading in time', async () => {
    scriptChat(chat.gateway, ...steps);
    const client = await askUnread();
    chat.server.deps.clock.advance(280_000);
    await chat.server.deps.settled();
    await untilAsleep(chat.server.deps, 1);
    chat.server.deps.clock.advance(59_999);
    client.socket.resume();
    expect(await client.until(/"type":"done"/)).toContain('DEADLINE_EXCEEDED');
    await untilAsleep(chat.server.deps, 0);
    client.socket.destroy();
  });
});

/** Resolves when the operating system accepts no more of an answer: nothing moves between two checks. */
function untilFull(response: ServerResponse): Promise<true> {
  let [looks, before] = [0, -1];
  return waitFor(() => {
    const written = response.socket?.bytesWritten ?? 0;
    looks = response.writableNeedDrain && written === before ? looks + 1 : 0;
    before = written;
    return looks === 40 || null;
  }, 'a full connection');
}
