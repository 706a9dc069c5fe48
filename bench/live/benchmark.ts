import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { printTable } from '../report.ts';
import { type ServerProcess, startServer } from '../servers.ts';
import { times } from '../share.ts';
import type { ClientsReport } from './clients.ts';

const PORT = 18082;
const ROWS_A_SECOND = 20;
const POLL_MS = 2_000;
/**
 * The kernels buffer some megabytes for a stalled client before a write blocks, so this part has larger rows and a
 * quarter of the clients.
 */
const SMALL_ROW = 80;
const LARGE_ROW = 8_000;

interface Load {
  sse: number;
  sockets: number;
  stalled: number;
  seconds: number;
  rowBytes: number;
}

/** Memory of a server, in bytes. */
interface Memory {
  resident: number;
  /** The heap in use, including uncollected garbage. */
  heap: number;
}

interface Measured {
  report: ClientsReport;
  rows: number;
  /** Statements of the feed per second. */
  queries: number;
  /** Memory of the server before the clients connected, with them, and at the end of the load. */
  before: Memory;
  connected: Memory;
  after: Memory;
}

/**
 * `npm run bench -- live [--seconds 60] [--sse 1000] [--sockets 200] [--part load|stalled]`: measures the live feed
 * on a real Postgres, compared with the same load and one client.
 */
export async function runLiveBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      seconds: { type: 'string', default: String(times(60)) },
      sse: { type: 'string', default: String(times(1_000)) },
      sockets: { type: 'string', default: String(times(200)) },
      part: { type: 'string' },
    },
  });
  const full: Load = {
    sse: Number(values.sse),
    sockets: Number(values.sockets),
    stalled: 0,
    seconds: Number(values.seconds),
    rowBytes: SMALL_ROW,
  };
  if (values.part !== 'stalled') {
    reportLoad(full, await measure({ ...full, sse: 1, sockets: 0 }), await measure(full));
  }
  if (values.part === 'load') return;
  const large = {
    ...full,
    sse: Math.ceil(full.sse / 4),
    sockets: Math.ceil(full.sockets / 4),
    rowBytes: LARGE_ROW,
  };
  reportStalled(large, await measure(large), await measure({ ...large, stalled: times(20) }));
}

/** Runs one load on a new server and Postgres, so that nothing is left over for the next one. */
async function measure(load: Load): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-live-'));
  const postgres = await startPostgres({
    autovacuum: 'on',
    shared_preload_libraries: 'pg_stat_statements',
  });
  let server: ServerProcess | null = null;
  let clients: ChildProcess | null = null;
  const database = new Client({ connectionString: postgres.url });
  database.on('error', (error) => process.stderr.write(`${error.message}\n`));
  try {
    const secret = randomBytes(32).toString('base64url');
    server = await startServer(
      'scripts/start.ts',
      PORT,
      {
        DATABASE_URL: postgres.url,
        DATA_DIR: folder,
        INTERNAL_SECRET: secret,
        EMBEDDED_DB_PORT: '0',
      },
      '/health',
    );
    await database.connect();
    await database.query('CREATE EXTENSION pg_stat_statements');
    await warmUp(server.url, secret);
    const before = await readMemory(server.url, secret);
    clients = fork(
      'bench/live/clients.ts',
      ['127.0.0.1', String(PORT), load.sse, load.sockets, load.stalled].map(String),
      { env: { PATH: process.env.PATH, INTERNAL_SECRET: secret } },
    );
    await once(clients, 'message');
    const connected = await readMemory(server.url, secret);
    const polls = await feedStatements(database);
    const startedAt = performance.now();
    const rows = await write(database, load);
    const queries =
      ((await feedStatements(database)) - polls) / ((performance.now() - startedAt) / 1_000);
    // The last rows take at most one poll to arrive.
    await delay(POLL_MS + 1_500);
    const after = await readMemory(server.url, secret);
    clients.send('stop');
    const [report] = (await once(clients, 'message')) as [ClientsReport];
    return { report, rows, queries, before, connected, after };
  } finally {
    clients?.kill();
    await server?.stop();
    await database.end();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes rows at an even pace, each in its own transaction. Returns how many. */
async function write(database: Client, { seconds, rowBytes }: Load): Promise<number> {
  const rows = Math.round(seconds * ROWS_A_SECOND);
  const startedAt = performance.now();
  for (let n = 0; n < rows; n++) {
    await delay(Math.max(0, startedAt + (n * 1_000) / ROWS_A_SECOND - performance.now()));
    await database.query(
      "INSERT INTO execution_logs (level, message, repository) VALUES ('info', repeat('x', $1), 'owner/repository')",
      [rowBytes],
    );
  }
  return rows;
}

/** The number of reads of the logs so far. During the load, only the feed reads them. */
async function feedStatements(database: Client): Promise<number> {
  const { rows } = await database.query(
    "SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements WHERE query ~ '^(SELECT|WITH).*execution_logs'",
  );
  return rows[0].calls;
}

/** Warms up the server, so that loaded and compiled code and reserved heap are not attributed to the clients. */
async function warmUp(url: string, secret: string): Promise<void> {
  const headers = { 'X-Internal-Secret': secret };
  for (let n = 0; n < times(1_000); n++)
    await (await fetch(`${url}/api/logs?limit=500`, { headers })).text();
  const stream = await fetch(`${url}/api/logs/stream`, { headers });
  await stream.body?.cancel();
}

async function readMemory(url: string, secret: string): Promise<Memory> {
  const headers = { 'X-Internal-Secret': secret };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  const figure = (name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
  return {
    resident: figure('process_resident_memory_bytes'),
    heap: figure('nodejs_heap_size_used_bytes'),
  };
}

/** The quantile of the delays of the events, in milliseconds. */
function delayOf({ delays }: ClientsReport, share: number): number {
  const all = delays.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [bin, count] of delays.entries()) {
    seen += count;
    if (seen >= all * share) return (bin + 1) * 10;
  }
  return Number.NaN;
}

/** The number of missing deliveries to reading clients. */
function lost({ report, rows }: Measured): number {
  return rows * report.clients - (report.events - report.doubled);
}

const verdict = (reached: boolean) => (reached ? 'reached' : 'MISSED');

function reportLoad(load: Load, one: Measured, many: Measured): void {
  const perClient = (memory: Memory, of: keyof Memory) =>
    (memory[of] - many.before[of]) / many.report.clients / 1_024;
  const loaded = perClient(many.after, 'resident');
  const p99 = delayOf(many.report, 0.99);
  const rate = many.report.events / load.seconds;
  printTable(
    `Live feed: ${load.sse} streams and ${load.sockets} WebSockets, ${ROWS_A_SECOND} rows per second for ${load.seconds} s`,
    ['figure', '1 client', `${many.report.clients} clients`, 'goal'],
    [
      ['events delivered', String(one.report.events), String(many.report.events), ''],
      ['events per second', (one.report.events / load.seconds).toFixed(0), rate.toFixed(0), ''],
      ['lost', String(lost(one)), String(lost(many)), verdict(lost(many) === 0)],
      [
        'delivered twice',
        String(one.report.doubled),
        String(many.report.doubled),
        verdict(many.report.doubled === 0),
      ],
      ['delay, median', `${delayOf(one.report, 0.5)} ms`, `${delayOf(many.report, 0.5)} ms`, ''],
      [
        'delay, 99 %',
        `${delayOf(one.report, 0.99)} ms`,
        `${p99} ms`,
        `${verdict(p99 < POLL_MS + 500)} (${POLL_MS + 500} ms)`,
      ],
      [
        'queries per second',
        one.queries.toFixed(2),
        many.queries.toFixed(2),
        verdict(many.queries < one.queries * 1.2),
      ],
      [
        'memory per client, connected',
        '',
        `${perClient(many.connected, 'resident').toFixed(1)} KiB`,
        '',
      ],
      [
        'memory per client, under load',
        '',
        `${loaded.toFixed(1)} KiB`,
        `${verdict(loaded < 48)} (48 KiB)`,
      ],
      ['heap part of that', '', `${perClient(many.after, 'heap').toFixed(1)} KiB`, ''],
    ],
  );
}

function reportStalled(load: Load, reading: Measured, stalled: Measured): void {
  const [without, with20] = [delayOf(reading.report, 0.99), delayOf(stalled.report, 0.99)];
  printTable(
    `20 of ${load.sse} streams and ${load.sockets} WebSockets stop reading, rows of ${LARGE_ROW} bytes`,
    ['figure', 'all read', '20 stalled', 'goal'],
    [
      ['dropped', '', `${stalled.report.dropped}`, verdict(stalled.report.dropped === 20)],
      [
        'lost by the others',
        String(lost(reading)),
        String(lost(stalled)),
        verdict(lost(stalled) === 0),
      ],
      [
        'delay of the others, 99 %',
        `${without} ms`,
        `${with20} ms`,
        `${verdict(with20 <= without * 1.2)} (1.2 times)`,
      ],
    ],
  );
}
