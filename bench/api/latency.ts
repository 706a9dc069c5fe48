import type { Client } from 'pg';
import { ms, printTable, ratio, time } from '../report.ts';
import { times } from '../share.ts';
import type { Scale } from './data.ts';
import { measuredEndpoints } from './endpoints.ts';

const GOAL = { median: 25, p95: 60 };

/** Times each read endpoint over HTTP with one client, and the plain statements for the same response. */
export async function measureLatency(
  url: string,
  secret: string,
  client: Client,
  scale: Scale,
): Promise<void> {
  const logs = scale.runs * scale.logsPerRun;
  const medians = new Map<string, number>();
  const rows: string[][] = [];
  for (const { path, plain, faster } of measuredEndpoints(scale)) {
    const asked = await time(() => ask(`${url}${path}`, secret), {
      runs: times(100),
      warmUp: times(10),
    });
    const plainly = await time(() => askPlainly(client, plain), { runs: times(5), warmUp: 1 });
    medians.set(path, asked.median);
    const gain = plainly.median / asked.median;
    const reached = asked.median <= GOAL.median && asked.p95 <= GOAL.p95 && gain >= (faster ?? 0);
    const goal = faster === undefined ? '' : `, ${faster}× plain`;
    rows.push([
      path,
      ms(asked.median),
      ms(asked.p95),
      ms(plainly.median),
      ratio(gain),
      reached ? 'reached' : `MISSED (${GOAL.median} ms, ${GOAL.p95} ms${goal})`,
    ]);
  }
  printTable(
    `Latency, one client, ${logs} logs`,
    ['endpoint', 'median', 'p95', 'plain SQL median', 'plain / endpoint', 'goal'],
    rows,
  );

  const first = medians.get('/api/logs') ?? Number.NaN;
  const last = medians.get(`/api/logs?page=${logs / 50}`) ?? Number.NaN;
  printTable(
    'Last page of /api/logs against the first',
    ['first page', 'last page', 'last / first', 'goal'],
    [[ms(first), ms(last), ratio(last / first), last / first <= 5 ? 'reached' : 'MISSED (5×)']],
  );
}

/** The endpoints whose answer is about every repository. */
const wholePaths = ['/api/overview', '/metrics', '/api/dashboard/stats', '/api/repos'];

/**
 * Times the endpoints about every repository with 20,000 of them, and with the server's own settings for just-in-time
 * compilation. The server must be able to compile, or both are the same.
 */
export async function measureManyRepositories(
  url: string,
  withJit: string,
  secret: string,
): Promise<void> {
  const rows: string[][] = [];
  for (const path of wholePaths) {
    const asked = await time(() => ask(`${url}${path}`, secret), {
      runs: times(30),
      warmUp: times(6),
    });
    const compiled = await time(() => ask(`${withJit}${path}`, secret), {
      runs: times(5),
      warmUp: times(6),
    });
    rows.push([
      path,
      ms(asked.median),
      ms(asked.p95),
      ms(compiled.median),
      asked.median <= GOAL.median ? 'reached' : `MISSED (${GOAL.median} ms)`,
    ]);
  }
  printTable(
    '20,000 repositories, 5 runs, one client',
    ['endpoint', 'median', 'p95', "median with the server's settings", 'goal'],
    rows,
  );
}

async function ask(url: string, secret: string): Promise<void> {
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${secret}` } });
  const body = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${body}`);
}

async function askPlainly(client: Client, statements: string[]): Promise<void> {
  for (const statement of statements) await client.query(statement);
}
