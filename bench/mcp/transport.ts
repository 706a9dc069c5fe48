import { randomBytes } from 'node:crypto';
import { systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { createDatabaseSource } from '../../lib/tools/database-source.ts';
import { findFreePort } from '../../scripts/free-port.ts';
import { ms, printTable, quantile, ratio, time } from '../report.ts';
import { startServer } from '../servers.ts';
import { times } from '../share.ts';

const ROUNDS = times(15);
const CALLS = { runs: times(100), warmUp: times(5) };
const RUNS = 500;
/** The goal for the size of tools/list. */
const LIST_GOAL_BYTES = 40 * 1024;
const RATIO_GOAL = 1.5;

/**
 * Measures the cost of the transport on a migrated database that is filled here: list_backup_runs by tools/call over
 * HTTP, compared with the same query without MCP and an empty tool of the SDK alone. The three alternate, so that a
 * busy machine affects all of them. The goal is 1.5 × (query + empty tool). Also measures the size of tools/list.
 */
export async function measureTransport(databaseUrl: string): Promise<void> {
  const token = randomBytes(32).toString('base64url');
  const log = createLog('warn', systemClock);
  const db = await openDatabase({ url: databaseUrl, fetch, log });
  await fill(db);
  const [port, emptyPort] = [await findFreePort(18_090), await findFreePort(18_091)];
  const ours = await startServer(
    'scripts/mcp.ts',
    port,
    {
      DATABASE_URL: databaseUrl,
      MCP_TRANSPORT: 'http',
      MCP_PORT: String(port),
      MCP_AUTH_TOKEN: token,
      MCP_MAX_CALLS_PER_MINUTE: '1000000',
      LOG_LEVEL: 'info',
    },
    '/health',
  );
  const empty = await startServer('bench/mcp/empty-server.ts', emptyPort, {}, '/');
  try {
    await measureCalls(
      db,
      (name, given) => callTool(`${ours.url}/mcp`, token, name, given),
      () => callTool(empty.url, token, 'empty', {}),
    );
    await measureList(`${ours.url}/mcp`, token);
  } finally {
    await Promise.all([ours.stop(), empty.stop(), db.close()]);
  }
}

async function measureCalls(
  db: Database,
  callOurs: (name: string, given: object) => Promise<unknown>,
  callEmpty: () => Promise<unknown>,
): Promise<void> {
  const source = createDatabaseSource({
    db,
    clock: systemClock,
    log: createLog('warn', systemClock),
    config: { FRESHNESS_HOURS: 26 },
  });
  const { signal } = new AbortController();
  const page = { page: 1, limit: 20 };
  const rounds: { tool: number; query: number; empty: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      tool: (await time(() => callOurs('list_backup_runs', page), CALLS)).median,
      query: (await time(() => source.listRuns(page, {}, signal), CALLS)).median,
      empty: (await time(callEmpty, CALLS)).median,
    });
  }
  const median = (pick: (round: (typeof rounds)[number]) => number) =>
    quantile(rounds.map(pick), 0.5);
  printTable(
    `tools/call over http (medians of ${ROUNDS} rounds of ${CALLS.runs} calls in turns)`,
    ['list_backup_runs', 'Query alone', 'Empty tool of the SDK', 'Ratio', 'Goal'],
    [
      [
        ms(median(({ tool }) => tool)),
        ms(median(({ query }) => query)),
        ms(median(({ empty }) => empty)),
        ratio(median(({ tool, query, empty }) => tool / (query + empty))),
        `at most ${ratio(RATIO_GOAL)}`,
      ],
    ],
  );
}

async function measureList(url: string, token: string): Promise<void> {
  const text = await post(url, token, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? '';
  const bytes = Buffer.byteLength(JSON.stringify(JSON.parse(data).result));
  const list = () => post(url, token, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const { median } = await time(list, CALLS);
  printTable(
    'tools/list',
    ['Size', 'Goal', 'Median'],
    [[`${(bytes / 1024).toFixed(1)} KB`, `at most ${LIST_GOAL_BYTES / 1024} KB`, ms(median)]],
  );
}

async function callTool(url: string, token: string, name: string, given: object) {
  const params = { name, arguments: given };
  const text = await post(url, token, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  if (!text.includes('"structuredContent"')) throw new Error(`${name} answered ${text}`);
}

async function post(url: string, token: string, message: object): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(message),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
  return text;
}

async function fill(db: Database): Promise<void> {
  await db.query({
    text: `INSERT INTO backup_runs (status, started_at, completed_at, total_repos, successful, duration_ms)
      SELECT 'completed', now() - n * interval '1 hour', now() - n * interval '1 hour', 20, 20, 60000
      FROM generate_series(1, ${RUNS}) AS n`,
  });
}
