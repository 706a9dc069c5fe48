import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { execa } from 'execa';
import type { Page } from 'playwright-core';
import { systemClock } from '../../lib/clock.ts';
import { httpVariables } from '../../lib/config/http.ts';
import { readConfig } from '../../lib/config/read.ts';
import type { Database } from '../../lib/database/database.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { PAGE_PATH } from '../../lib/surfaces/page.ts';
import { insertDemoHistory } from '../../scripts/demo/history.ts';
import { startLocalServer } from '../../scripts/local-server.ts';
import { buildPageWhenStale } from '../../scripts/page/build-page.ts';
import { compressFiles } from '../../scripts/page/compress-files.ts';
import { createPageApp } from '../../scripts/page/page-app.ts';
import { launchChromium } from '../../tests/support/chromium.ts';
import { observatoryEnvironment } from '../../tests/support/observatory-client.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { ms, printTable, quantile, ratio } from '../report.ts';
import { times } from '../share.ts';
import { drawWhileWriting, FROZEN_MS, LATE_MS, lastLine, TAIL_LINES_PER_SECOND } from './tail.ts';

const log = createLog('error', systemClock, (line) => process.stderr.write(`${line}\n`));
const PAIRS = times(15);
const GOAL = 1.5;
/** The sentence about the state of the backups. */
const VERDICT = '[aria-label="State of the backups"]';
const TAIL_SECONDS = times(10);

/** `npm run bench -- page`: measures the first useful paint, compared with an empty page, and the live log. */
export async function runPageBenchmark(): Promise<void> {
  await buildPageWhenStale((text) => process.stdout.write(text));
  const postgres = await startPostgres({});
  const db = await openDatabase({ url: postgres.url, fetch, log, maxConnections: 2 });
  await migrate(db, 'drizzle');
  await insertDemoHistory(db, systemClock.now());
  const server = await startLocalServer({
    ...observatoryEnvironment,
    DATABASE_URL: postgres.url,
    INTERNAL_SECRET: randomBytes(32).toString('hex'),
    PATH: process.env.PATH,
    PORT: '0',
    LOG_LEVEL: 'error',
  });
  const empty = await serveEmptyPage();
  const browser = await launchChromium();
  try {
    const context = await browser.newContext();
    const [, code] = (server.issueLoginLink() ?? '').split('#');
    await context.request.post(`${server.url}/auth/session`, { data: { code } });
    await context.addInitScript(notePaints);
    const page = await context.newPage();
    await comparePaints(page, `${server.url}/app/`, empty.url);
    await followLog(page, `${server.url}/app/logs`, empty.url, db);
  } finally {
    await browser.close();
    await Promise.all([server.close(), empty.close(), db.close()]);
    await postgres.stop();
  }
}

async function comparePaints(page: Page, ours: string, empty: string): Promise<void> {
  const times = { empty: [] as number[], heading: [] as number[], sentence: [] as number[] };
  for (let pair = 0; pair < PAIRS + 3; pair++) {
    const one = await paint(page, empty, 'h1');
    const other = await paint(page, ours, VERDICT);
    if (pair < 3) continue;
    times.empty.push(one.heading);
    times.heading.push(other.heading);
    times.sentence.push(other.last);
  }
  const emptyMs = quantile(times.empty, 0.5);
  const rows = (['heading', 'sentence'] as const).map((what) => {
    const factors = times[what].map((value, pair) => value / (times.empty[pair] ?? Number.NaN));
    const factor = quantile(factors, 0.5);
    const range = `${ratio(quantile(factors, 0.1))} to ${ratio(quantile(factors, 0.9))}`;
    const oursMs = quantile(times[what], 0.5);
    const verdict = factor <= GOAL ? 'reached' : 'missed';
    return [what, ms(emptyMs), ms(oursMs), ratio(factor), range, verdict];
  });
  printTable(
    `First useful paint, medians of ${PAIRS} pairs`,
    ['painted', 'empty page', 'overview', 'ratio', '10 % to 90 %', `goal ${ratio(GOAL)}`],
    rows,
  );
}

/** Milliseconds until the page's heading and the selector `last` are painted, with an empty cache. */
async function paint(page: Page, url: string, last: string) {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.clearBrowserCache');
  await session.detach();
  await page.goto('about:blank');
  // Without a locator, because its script would run while the page loads.
  await page.goto(url);
  const painted = await page.evaluate<Record<string, number>>(paintTimes(last));
  return { heading: painted.h1 ?? Number.NaN, last: painted[last] ?? Number.NaN };
}

// Strings, because they run in the browser and use globals that this program does not have.
const notePaints = `{
  const painted = {};
  window.painted = painted;
  new MutationObserver(() => {
    for (const selector of ['h1', '${VERDICT}']) {
      if (selector in painted || !document.querySelector(selector)) continue;
      painted[selector] = null;
      requestAnimationFrame(() => setTimeout(() => { painted[selector] = performance.now(); }));
    }
  }).observe(document, { subtree: true, childList: true });
}`;
const paintTimes = (last: string) => `new Promise((done) => {
  const look = () => (painted[${JSON.stringify(last)}] ? done(painted) : setTimeout(look, 10));
  look();
})`;
/** Measures how even the frames of the live log are, compared with an idle page while the same lines are written. */
async function followLog(page: Page, log: string, empty: string, db: Database): Promise<void> {
  const rows: string[][] = [];
  for (const [name, url] of [
    ['empty page', empty],
    ['live log', log],
  ] as const) {
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const pauses = await drawWhileWriting(page, db, TAIL_SECONDS);
    const late = pauses.filter((pause) => pause > LATE_MS).length;
    rows.push([
      name,
      String(pauses.length),
      ms(quantile(pauses, 0.99)),
      String(late),
      ms(Math.max(...pauses)),
      Math.max(...pauses) <= FROZEN_MS ? 'reached' : 'missed',
    ]);
  }
  await page.getByText(lastLine(TAIL_SECONDS)).first().waitFor();
  printTable(
    `Live log, ${TAIL_LINES_PER_SECOND} lines a second for ${TAIL_SECONDS} s: pauses between frames`,
    ['page', 'frames', '99 %', `over ${LATE_MS} ms`, 'longest', `goal ${ms(FROZEN_MS)}`],
    rows,
  );
}

/** Builds a page of React, Mantine, Router and Query with a single text, and serves it like the real page. */
async function serveEmptyPage() {
  const folder = await mkdtemp(join(tmpdir(), 'bench-page-'));
  const root = resolve(import.meta.dirname, 'empty');
  const env = { NODE_ENV: 'production' };
  await execa({
    preferLocal: true,
    env,
  })`vite build ${root} --base ${PAGE_PATH}/ --outDir ${folder} --logLevel error`;
  await compressFiles(join(folder, 'assets'));
  const unlimited = { allowed: true, limit: 0, remaining: 0, resetsAt: 0 };
  const app = createPageApp(folder, {
    config: readConfig(httpVariables, {}),
    limiter: { count: async () => unlimited },
    ...{ clock: systemClock, log },
  });
  const server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PAGE_PATH}/`,
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
