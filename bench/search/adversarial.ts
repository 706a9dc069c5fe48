import { setTimeout as delay } from 'node:timers/promises';
import { ms, printTable, quantile } from '../report.ts';
import { times } from '../share.ts';
import type { SearchServer } from './latency.ts';

const GOAL_SLOWEST = 1_000;
const GOAL_HEALTH = 100;
const HEALTH_EVERY_MS = 20;
const ROUNDS = times(3);

/** Words that `messageOf` writes into every row or every fifth row. */
const frequent = ['step', 'backup', 'repository', 'timeout', 'retrying', 'ended', 'owner', 'the'];
const word = (n: number) => frequent[n % frequent.length] ?? '';
/** `count` different parts, cut at the maximum length of a query. */
const many = (count: number, part: (n: number) => string, between: string) =>
  Array.from({ length: count }, (_, n) => part(n))
    .join(between)
    .slice(0, 1_000);

/** 60 queries designed to keep a database busy, by what makes them slow. */
const adversarialQueries: Record<string, readonly string[]> = {
  'phrases of frequent words that never meet': [
    '"step backup"',
    '"timeout backup"',
    '"backup step"',
    '"repository step"',
    '"retrying timeout"',
    '"owner step"',
    '"the retrying"',
    '"ended step"',
    '"backup timeout repository"',
    '"repositories stepping"',
    '"timeouts backup"',
    '"retries backups"',
  ],
  'phrases of many words': [
    `"${many(48, word, ' ')}"`,
    `"${many(48, (n) => word(n * 3), ' ')}"`,
    `"${many(48, (n) => `of ${word(n)}`, ' ')}"`,
    `"step backup" "${many(40, (n) => word(n * 5), ' ')}"`,
    many(20, (n) => `"${word(n)} ${word(n + 3)}"`, ' '),
    many(20, (n) => `"${word(n)} ${word(n + 5)}" -"${word(n + 1)} ${word(n + 3)}"`, ' '),
  ],
  '48 phrases joined by or': [
    many(48, (n) => `"${word(n)} ${word(n * 3 + 1)}"`, ' or '),
    many(48, (n) => `"${word(n)} ${word(n + 2)} ${n}"`, ' or '),
    many(48, (n) => `"${word(n)} ${n}" "${word(n + 3)} ${word(n)}"`, ' or '),
    many(48, (n) => `"${word(n)} repository-${n}"`, ' or '),
    many(48, (n) => `"${word(n)} zeppelin"`, ' or '),
    many(48, (n) => `"${word(n * 5)} ${word(n + 4)}" -${word(n)}`, ' or '),
    many(48, (n) => `"${word(n)}s ${word(n + 1)}s"`, ' or '),
    many(48, (n) => `"step${n} backup"`, ' or '),
  ],
  negations: [
    'timeout -backup',
    'the -backup',
    'backup -step',
    'step -"of the"',
    'step -"step of the backup"',
    'timeout retrying -zeppelin',
    'handshake -after',
    many(24, (n) => `-${word(n)}${n} backup`, ' '),
    many(48, (n) => (n % 2 === 0 ? word(n) : `-${word(n)}`), ' '),
    many(24, (n) => `-"${word(n)} ${word(n + 3)}"`, ' ')
      .concat(' step -repository')
      .slice(0, 1_000),
  ],
  beginnings: [
    'ste zeppeli',
    'pository',
    'imeou',
    'handsh',
    'owner-1/rep',
    'ste bac repo timeo retr en wit owne',
    'zfi',
    'zcoarsez',
    'repos or handsh or zeppe or timeo',
    'hands -backup',
  ],
  'words that are never together': [
    'timeout retrying',
    'timeout retrying handshake',
    'empty repositories',
    'timeout zeppelin balloon retrying step',
    many(8, (n) => `${word(n)} zeppelin${n}`, ' '),
    'owner-3/repository-4 owner-5/repository-6 timeout',
    many(48, word, ' '),
    many(16, (n) => `${word(n)} ${word(n + 3)} ${word(n + 5)} ${n}`, ' or '),
  ],
  '1,000 characters': [
    many(300, word, ' '),
    many(1_000, (n) => String.fromCodePoint(97 + (n % 26)), ' '),
    'x'.repeat(1_000),
    many(200, (n) => `${word(n)}/`, ''),
    many(200, (n) => `"${word(n)}" `, '-'),
    many(100, (n) => `owner-${n}/repository-${n}`, ' '),
  ],
};

/**
 * Times POST /search for queries designed to keep the database busy, while constantly requesting /health.
 */
export async function measureAdversarialSearches(
  title: string,
  server: SearchServer,
): Promise<void> {
  const rows: string[][] = [];
  const all: number[] = [];
  const health = watchHealth(server.url);
  for (const [what, queries] of Object.entries(adversarialQueries)) {
    const took: number[] = [];
    let cut = 0;
    for (let n = 0; n < times(queries.length * 3); n++) {
      const { time, isCut } = await ask(server, queries[n % queries.length] ?? '');
      took.push(time);
      if (isCut) cut++;
    }
    all.push(...took);
    rows.push([
      what,
      String(took.length / ROUNDS),
      ms(quantile(took, 0.5)),
      ms(Math.max(...took)),
      `${cut} of ${took.length}`,
    ]);
  }
  const healthTimes = await health.stop();
  const slowest = Math.max(...all);
  const unhealthy = Math.max(...healthTimes);
  rows.push(['all', String(all.length / ROUNDS), ms(quantile(all, 0.5)), ms(slowest), '']);
  printTable(title, ['searched for', 'queries', 'median', 'slowest', 'cut short'], rows);
  process.stdout.write(
    `\nSlowest search: ${ms(slowest)}, ${verdict(slowest, GOAL_SLOWEST)}\n` +
      `/health meanwhile: median ${ms(quantile(healthTimes, 0.5))}, slowest ${ms(unhealthy)}, ${verdict(unhealthy, GOAL_HEALTH)}\n`,
  );
}

const verdict = (value: number, goal: number) =>
  value <= goal ? 'reached' : `MISSED (${goal} ms)`;

async function ask({ url, headers }: SearchServer, query: string) {
  const start = performance.now();
  const body = JSON.stringify({ query });
  const answer = await fetch(`${url}/search`, { method: 'POST', headers, body });
  const text = await answer.text();
  const time = performance.now() - start;
  if (!answer.ok) throw new Error(`${query}: ${answer.status} ${text}`);
  const { degraded_reason } = JSON.parse(text).data as { degraded_reason: string | null };
  return { time, isCut: degraded_reason?.includes('cut short') ?? false };
}

/** Requests /health repeatedly until it is stopped, and then returns how long each response took. */
function watchHealth(url: string): { stop(): Promise<number[]> } {
  const times: number[] = [];
  let isStopped = false;
  const asking = (async () => {
    while (!isStopped) {
      const start = performance.now();
      const answer = await fetch(`${url}/health`);
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`/health: ${answer.status}`);
      times.push(performance.now() - start);
      await delay(HEALTH_EVERY_MS);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await asking;
      return times;
    },
  };
}
