import autocannon from 'autocannon';
import { printTable, quantile, ratio } from '../report.ts';
import { times } from '../share.ts';

const PATH = '/api/backups?limit=50';
const ROUNDS = times(7);
const SECONDS = times(4);
const WARM_UP_SECONDS = times(2);

/** Compares the requests per second of GET /api/backups with a bare server, alternating: A B A B … */
export async function measureThroughput(ours: string, bare: string, secret: string): Promise<void> {
  const rates: { ours: number; bare: number }[] = [];
  await load(ours, secret, WARM_UP_SECONDS);
  await load(bare, secret, WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round++) {
    rates.push({ ours: await load(ours, secret), bare: await load(bare, secret) });
  }
  const ratios = rates.map((rate) => rate.ours / rate.bare);
  const median = quantile(ratios, 0.5);
  printTable(
    `Throughput of GET ${PATH}, 8 clients, ${ROUNDS} pairs of ${SECONDS} s`,
    ['server', 'requests a second (median)', 'of the bare server (median of pairs)', 'goal'],
    [
      ['node:http + pg, two queries', rate(rates.map((it) => it.bare)), ratio(1), ''],
      [
        'this service',
        rate(rates.map((it) => it.ours)),
        `${ratio(median)} (${ratio(Math.min(...ratios))} to ${ratio(Math.max(...ratios))})`,
        median >= 0.9 ? 'reached' : 'MISSED (0.9)',
      ],
    ],
  );
}

const rate = (values: number[]) => quantile(values, 0.5).toFixed(0);

async function load(url: string, secret: string, seconds = SECONDS): Promise<number> {
  const result = await autocannon({
    url: `${url}${PATH}`,
    connections: 8,
    duration: seconds,
    headers: { authorization: `Bearer ${secret}` },
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} error responses, ${result.errors} failed requests`);
  }
  return result.requests.average;
}
