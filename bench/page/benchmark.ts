import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { execa } from 'execa';
import { Hono } from 'hono';
import { chromium, type Page } from 'playwright-core';
import { systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log.ts';
import { startLocalServer } from '../../scripts/local-server.ts';
import { buildPageWhenStale } from '../../scripts/page/build-page.ts';
import { observatoryEnvironment } from '../../tests/support/observatory-client.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { ms, printTable, quantile, ratio } from '../report.ts';

const CHROMIUM = '/usr/bin/chromium';
const log = createLog('error', systemClock, (line) => process.stderr.write(`${line}\n`));
const PAIRS = 15;
const GOAL = 1.5;
const TAIL_SECONDS = 10;
const TAIL_LINES_PER_SECOND = 200;
/** A person notices a page that does not react for this long. */
const FROZEN_MS = 200;

/** `npm run bench -- page`: the page's first useful paint beside that of an empty page, and its live log. */
export async function runPageBenchmark(): Promise<void> {
  await buildPageWhenStale((text) => process.stdout.write(text));
  const postgres = await startPostgres({});
  const db = await openDatabase({ url: postgres.url, fetch, log, maxConnections: 2 });
  await migrate(db, 'drizzle');
  const server = await startLocalServer({
    ...observatoryEnvironment,
    DATABASE_URL: postgres.url,
    INTERNAL_SECRET: randomBytes(32).toString('hex'),
    PATH: process.env.PATH,
    PORT: '0',
    LOG_LEVEL: 'error',
  });
  const empty = await serveEmptyPage();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext();
    const [, code] = (server.issueLoginLink() ?? '').split('#');
    await context.request.post(`${server.url}/auth/session`, { data: { code } });
    const page = await context.newPage();
    await comparePaints(page, `${server.url}/app/`, empty.url);
    await followLog(page, `${server.url}/app/logs`, db);
  } finally {
    await browser.close();
    await Promise.all([server.close(), empty.close(), db.close()]);
    await postgres.stop();
  }
}

async function comparePaints(page: Page, ours: string, empty: string): Promise<void> {
  const times = { ours: [] as number[], empty: [] as number[] };
  for (let pair = 0; pair < PAIRS + 3; pair++) {
    const one = await paint(page, empty);
    const other = await paint(page, ours);
    if (pair < 3) continue;
    times.empty.push(one);
    times.ours.push(other);
  }
  const [emptyMs, oursMs] = [quantile(times.empty, 0.5), quantile(times.ours, 0.5)];
  const factor = oursMs / emptyMs;
  printTable(
    `First useful paint, medians of ${PAIRS} pairs`,
    ['empty page', 'overview', 'ratio', `goal ${ratio(GOAL)}`],
    [[ms(emptyMs), ms(oursMs), ratio(factor), factor <= GOAL ? 'reached' : 'missed']],
  );
}

/** Milliseconds until the page's heading is painted, with an empty cache. */
async function paint(page: Page, url: string): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.clearBrowserCache');
  await session.detach();
  await page.goto('about:blank');
  await page.goto(url, { waitUntil: 'commit' });
  await page.locator('h1').waitFor();
  return page.evaluate<number>(paintedAt);
}

// Texts, because they run in the browser, whose names this program does not have.
const paintedAt = `new Promise((done) => {
  requestAnimationFrame(() => setTimeout(() => done(performance.now())));
})`;
const longestPause = `new Promise((done) => {
  const end = performance.now() + ${TAIL_SECONDS * 1_000};
  let last = performance.now();
  let longest = 0;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (now < end) requestAnimationFrame(look);
    else done(longest);
  };
  requestAnimationFrame(look);
})`;

async function followLog(page: Page, url: string, db: Database): Promise<void> {
  await page.goto(url);
  await page.getByRole('heading', { level: 1 }).waitFor();
  const frames = page.evaluate<number>(longestPause);
  for (let second = 0; second < TAIL_SECONDS; second++) {
    const began = performance.now();
    await db.query({
      text: `INSERT INTO execution_logs (level, message, repository)
        SELECT 'info', 'line ' || n || ' of second ${second}: ' || repeat('x', 80), 'team/app'
        FROM generate_series(1, ${TAIL_LINES_PER_SECOND}) AS n`,
    });
    await new Promise((next) => setTimeout(next, Math.max(0, 1_000 - (performance.now() - began))));
  }
  const longest = await frames;
  const last = `line ${TAIL_LINES_PER_SECOND} of second ${TAIL_SECONDS - 1}`;
  await page.getByText(last).waitFor();
  printTable(
    `Live log, ${TAIL_LINES_PER_SECOND} lines a second for ${TAIL_SECONDS} s`,
    ['longest pause between frames', `goal ${ms(FROZEN_MS)}`],
    [[ms(longest), longest <= FROZEN_MS ? 'reached' : 'missed']],
  );
}

/** Builds a page of the same stack with nothing in it, and serves it as the page is served. */
async function serveEmptyPage() {
  const folder = await mkdtemp(join(tmpdir(), 'bench-page-'));
  const root = resolve(import.meta.dirname, 'empty');
  const env = { NODE_ENV: 'production' };
  await execa({
    preferLocal: true,
    env,
  })`vite build ${root} --base ./ --outDir ${folder} --logLevel error`;
  const app = new Hono().use('*', serveStatic({ root: folder }));
  const server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/index.html`,
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
