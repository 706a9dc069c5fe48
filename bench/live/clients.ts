import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';

// The clients of the benchmark, in a separate process:
//   node bench/live/clients.ts HOST PORT SSE WEBSOCKETS STALLED < nothing
// The secret is in the environment. Sends `open` when all are connected; `stop` from the parent ends it with a report.

/** The report of the clients, sent to the parent. */
export interface ClientsReport {
  clients: number;
  /** Events received by reading clients. */
  events: number;
  /** Events that a reading client received twice. */
  doubled: number;
  /** The number of deliveries of each row, by id; a lost one makes it less than the number of clients. */
  firstId: number;
  deliveries: number[];
  /** Milliseconds from the row's timestamp to the client, in bins of 10 ms. */
  delays: number[];
  /** Stalled clients that turned out to be disconnected when they read again. */
  dropped: number;
}

const BIN_MS = 10;
const [host = '', port = '', sse = '0', sockets = '0', stalled = '0'] = process.argv.slice(2);
const secret = process.env.INTERNAL_SECRET ?? '';

const deliveries = new Map<number, number>();
const delays: number[] = [];
const writtenAt = new Map<number, number>();
let events = 0;
let doubled = 0;

/** A reading client. Rows arrive in the order of their ids here, so every id above the last one is new. */
function createReader() {
  let rest = '';
  let last = 0;
  return (chunk: string) => {
    const text = rest + chunk;
    const now = Date.now();
    const row = /"id":(\d+),[^\n]*?"timestamp":"([^"]+)"\}/g;
    let end = 0;
    for (let match = row.exec(text); match; match = row.exec(text)) {
      const id = Number(match[1]);
      end = row.lastIndex;
      events += 1;
      if (id <= last) doubled += 1;
      last = Math.max(last, id);
      deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      let time = writtenAt.get(id);
      if (time === undefined) {
        time = Date.parse(match[2] ?? '');
        writtenAt.set(id, time);
      }
      const bin = Math.max(0, Math.floor((now - time) / BIN_MS));
      delays[bin] = (delays[bin] ?? 0) + 1;
    }
    rest = text.slice(end);
  };
}

interface Client {
  stall(): void;
  /** Reads again. Returns whether the server has ended the connection. */
  wasDropped(): Promise<boolean>;
}

function openStream(isStalled: boolean): Promise<Client> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), host);
    const read = createReader();
    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    socket.write(
      `GET /api/logs/stream HTTP/1.1\r\nHost: ${host}\r\nX-Internal-Secret: ${secret}\r\n\r\n`,
    );
    socket.once('close', () => reject(new Error('a stream was refused')));
    socket.on('data', (chunk: string) => {
      if (chunk.includes('retry: 5000')) resolve(client);
      if (!isStalled) read(chunk);
    });
    const client: Client = {
      stall: () => socket.pause(),
      wasDropped: () =>
        new Promise((settle) => {
          socket.once('close', () => settle(true));
          socket.resume();
          setTimeout(() => settle(false), 5_000).unref();
        }),
    };
  });
}

function openSocket(isStalled: boolean): Promise<Client> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(`ws://${host}:${port}/ws/live`, {
      headers: { 'X-Internal-Secret': secret },
    });
    const read = createReader();
    ws.on('message', (data) => {
      if (!isStalled) read(String(data));
    });
    ws.on('error', reject);
    ws.once('open', () => resolve(client));
    const client: Client = {
      stall: () => ws.pause(),
      wasDropped: () =>
        new Promise((settle) => {
          ws.once('close', () => settle(true));
          ws.resume();
          setTimeout(() => settle(false), 5_000).unref();
        }),
    };
  });
}

const opened: Client[] = [];
/** How many clients of each kind stall: the first ones. */
const stalledStreams = Math.ceil(Number(stalled) / 2);
const stalledSockets = Number(stalled) - stalledStreams;
for (let n = 0; n < Number(sse); n++) opened.push(await openStream(n < stalledStreams));
for (let n = 0; n < Number(sockets); n++) opened.push(await openSocket(n < stalledSockets));
const stalling = [
  ...opened.slice(0, stalledStreams),
  ...opened.slice(Number(sse), Number(sse) + stalledSockets),
];
for (const client of stalling) client.stall();
process.send?.('open');

process.once('message', async () => {
  const dropped = await Promise.all(stalling.map((client) => client.wasDropped()));
  const ids = [...deliveries.keys()];
  const firstId = Math.min(...ids);
  const report: ClientsReport = {
    clients: opened.length - stalling.length,
    events,
    doubled,
    firstId,
    deliveries: Array.from(
      { length: ids.length === 0 ? 0 : Math.max(...ids) - firstId + 1 },
      (_, n) => deliveries.get(firstId + n) ?? 0,
    ),
    delays: Array.from(delays, (count) => count ?? 0),
    dropped: dropped.filter(Boolean).length,
  };
  process.send?.(report, () => process.exit(0));
});
