import { WebSocket } from 'ws';
import { TEST_SECRET, withSecret } from '../../support/deps.ts';
import { insertLog } from '../../support/records.ts';
import {
  describeAnswer,
  type Ground,
  request,
  type Surface,
  untilThere,
  WORKS,
} from './surface.ts';

const get =
  (path: string, headers: Record<string, string> = withSecret) =>
  async ({ url, address }: Ground) =>
    describeAnswer(await fetch(`${url}${path}`, { headers: { ...headers, ...address } }));

/** GET /health, which depends on nothing. */
export const health: Surface = request(get('/health', {}));
/** GET /ready. */
export const ready: Surface = request(get('/ready', {}));
/** Every path below /api that reads. */
export const serviceApi: Surface = request(get('/api/backups'));

/** A live log stream that a client opens. */
export const openStream: Surface = request(async ({ url }) => {
  const leaving = new AbortController();
  const response = await fetch(`${url}/api/logs/stream`, {
    headers: withSecret,
    signal: leaving.signal,
  });
  if (!response.ok) return describeAnswer(response);
  leaving.abort();
  return WORKS;
});

/** A WebSocket that a client opens. */
export const openSocket: Surface = request(async ({ url }) => {
  const socket = connect(url);
  const outcome = await new Promise<string>((resolve) => {
    socket.once('open', () => resolve(WORKS));
    socket.once('unexpected-response', (_request, response) =>
      resolve(`${response.statusCode} SERVICE_UNAVAILABLE`),
    );
    socket.once('error', ({ message }) => resolve(message));
  });
  socket.terminate();
  return outcome;
});

/** A live log stream that was opened before: its rows arrive when the part is back, and none is lost. */
export const runningStream: Surface = running('stream', async ({ url }, received) => {
  const leaving = new AbortController();
  const response = await fetch(`${url}/api/logs/stream`, {
    headers: withSecret,
    signal: leaving.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const ended = (async () => {
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: '', done: true };
      if (done) return;
      received.push(value ?? '');
    }
  })();
  let isOpen = true;
  ended.then(
    () => {
      isOpen = false;
    },
    () => {
      isOpen = false;
    },
  );
  return { isOpen: () => isOpen, leave: () => leaving.abort() };
});

/** A WebSocket that was opened before. */
export const runningSocket: Surface = running('socket', async ({ url }, received) => {
  const socket = connect(url);
  socket.on('message', (data) => received.push(String(data)));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return { isOpen: () => socket.readyState === WebSocket.OPEN, leave: () => socket.terminate() };
});

function connect(url: string): WebSocket {
  return new WebSocket(`${url.replace('http', 'ws')}/ws/live`, {
    headers: { 'X-Internal-Secret': TEST_SECRET },
  });
}

/** A client of the live feed. A row is written while the part is broken. */
function running(
  name: string,
  open: (ground: Ground, received: string[]) => Promise<{ isOpen(): boolean; leave(): void }>,
): Surface {
  return async (ground, phases) => {
    const received: string[] = [];
    const client = await open(ground, received);
    const has = (text: string) => (received.join('').includes(text) ? true : null);
    const send = async (text: string) => {
      const message = `${ground.label} ${name} ${text}`;
      await insertLog(ground.db, { message, level: 'info' });
      return message;
    };
    try {
      const before = await send('before');
      await untilThere(() => has(before), 'the row from before', 20_000);
      await phases.broken();
      const during = await send('during');
      // At least one poll, of which the feed learns nothing, or the row itself if the feed does not use the part.
      await untilThere(() => has(during), '', 2_500).catch(() => undefined);
      const seen = !client.isOpen() ? 'ended' : has(during) ? WORKS : 'stays open, rows come later';
      await phases.repaired();
      await untilThere(() => has(during), 'the row from during the fault');
      const after = await send('after');
      await untilThere(() => has(after), 'the row from after');
      const times = received.join('').split(during).length - 1;
      return { seen, stored: times === 1 ? '' : `the row ${times} times` };
    } finally {
      client.leave();
    }
  };
}
