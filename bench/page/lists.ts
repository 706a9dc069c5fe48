import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { systemClock } from '../../lib/clock.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { launchChromium } from '../../tests/support/chromium.ts';
import { ADA, observatoryEnvironment } from '../../tests/support/observatory-client.ts';
import type { Scale } from '../api/data.ts';
import { scale, startFilledPostgres } from '../filled-postgres.ts';
import { ms, printTable, quantile } from '../report.ts';
import { startServer } from '../servers.ts';
import { times } from '../share.ts';
import { drawWhileWriting, FROZEN_MS, LATE_MS, lastLine, TAIL_LINES_PER_SECOND } from './tail.ts';

const PORT = 18083;
const OPENINGS = times(7);
const SCROLLED_FRAMES = times(60);
/** A list that shows nothing for this long counts as broken. */
const MAX_WAIT_MS = 30_000;
/** Time until the live log has its maximum number of lines, and the browser has compiled its code. */
const WARM_UP_SECONDS = times(40);

/**
 * `npm run bench -- lists [--scale 0.1] [--tail 300]`: measures how soon the page's lists show rows of a large
 * database, whether they scroll evenly, and the live log over `--tail` seconds.
 */
export async function runListsBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: { tail: { type: 'string', default: String(times(300)) } },
  });
  const folder = await mkdtemp(join(tmpdir(), 'bench-lists-'));
  const postgres = await startFilledPostgres(scale);
  const environment = {
    ...observatoryEnvironment,
    DATABASE_URL: postgres.url,
    DATA_DIR: folder,
    INTERNAL_SECRET: randomBytes(32).toString('base64url'),
    LOG_LEVEL: 'error',
  };
  try {
    const server = await startServer('scripts/start.ts', PORT, environment, '/health');
    const browser = await launchChromium();
    try {
      const page = await openPage(browser, server.url);
      await measureLists(page, `${server.url}/app`, scale);
      await measureTail(page, `${server.url}/app/logs`, postgres.url, Number(values.tail));
    } finally {
      await browser.close();
      await server.stop();
    }
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext();
  const login = await context.request.post(`${url}/auth/session`, { data: ADA });
  if (!login.ok()) throw new Error(`the login failed with ${login.status()}`);
  await context.addInitScript(noteRows);
  return context.newPage();
}

/** The name and the path of every list, with its filters. */
const lists = ({ runs }: Scale): [string, string][] => [
  ['runs', '/runs'],
  ['runs, the last page', `/runs?page=${Math.ceil(runs / 25)}`],
  ['runs with failures', '/runs?failures=true'],
  ['a run', `/runs/${runs / 2}`],
  ['repositories', '/repositories'],
  ['repositories by name', '/repositories?text=repository-77'],
  ['repositories, the largest first', '/repositories?order=size'],
  ['a repository', '/repositories/owner-7/repository-7?tab=history'],
  ['logs', '/logs'],
  ['logs with errors', '/logs?level=error'],
  ['logs of a repository', '/logs?repository=owner-7%2Frepository-7'],
  ['logs of a run', `/logs?run=${runs / 2}`],
  ['logs with words', '/logs?text=step+77'],
];

async function measureLists(page: Page, base: string, scale: Scale): Promise<void> {
  const rows: string[][] = [];
  for (const [name, path] of lists(scale)) {
    const shown: number[] = [];
    const frozen: number[] = [];
    const scrolled: number[] = [];
    for (let opening = 0; opening <= OPENINGS; opening++) {
      await page.goto('about:blank');
      await page.goto(`${base}${path}`);
      const first = await page.evaluate<number>(firstRows);
      const pauses = await page.evaluate<number[]>(scrollThrough);
      // Not counted: the first time, files are not in the cache.
      if (opening === 0) continue;
      shown.push(first);
      frozen.push(await page.evaluate<number>('Math.max(0, ...longTasks)'));
      scrolled.push(Math.max(...pauses));
    }
    const longest = Math.max(...frozen, ...scrolled);
    rows.push([
      name,
      ms(quantile(shown, 0.5)),
      ms(Math.max(...shown)),
      ms(quantile(frozen, 0.5)),
      ms(quantile(scrolled, 0.5)),
      ms(longest),
      longest <= FROZEN_MS ? 'reached' : 'missed',
    ]);
  }
  const { runs, resultsPerRun, logsPerRun } = scale;
  printTable(
    `Lists over ${runs * resultsPerRun} results and ${runs * logsPerRun} logs, ${OPENINGS} openings`,
    [
      'list',
      'first rows',
      'slowest',
      'longest task',
      'longest pause of a scroll',
      'of all',
      `goal ${ms(FROZEN_MS)}`,
    ],
    rows,
  );
}

async function measureTail(page: Page, log: string, url: string, seconds: number): Promise<void> {
  const warnings = createLog('warn', systemClock);
  const db = await openDatabase({ url, fetch, log: warnings, maxConnections: 2 });
  try {
    await page.goto(log);
    await page.getByRole('log').waitFor();
    await drawWhileWriting(page, db, WARM_UP_SECONDS);
    const before = await usedMegabytes(page);
    const pauses = await drawWhileWriting(page, db, seconds);
    await page.getByText(lastLine(seconds)).first().waitFor();
    const after = await usedMegabytes(page);
    const longest = Math.max(...pauses);
    printTable(
      `Live log, ${TAIL_LINES_PER_SECOND} lines a second for ${seconds} s`,
      [
        'frames',
        `over ${LATE_MS} ms`,
        'longest',
        `goal ${ms(FROZEN_MS)}`,
        'memory before',
        'after',
      ],
      [
        [
          String(pauses.length),
          String(pauses.filter((pause) => pause > LATE_MS).length),
          ms(longest),
          longest <= FROZEN_MS ? 'reached' : 'missed',
          `${before.toFixed(1)} MB`,
          `${after.toFixed(1)} MB`,
        ],
      ],
    );
  } finally {
    await db.close();
  }
}

/** The page's heap after garbage collection. */
async function usedMegabytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize / 1e6;
}

// Strings, because they run in the browser and use globals that this program does not have.
const noteRows = `{
  const rows = 'tbody tr, [role=log] [data-index]';
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longTasks.push(duration);
  }).observe({ type: 'longtask', buffered: true });
  new MutationObserver((_, observer) => {
    if (!document.querySelector(rows)) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.rowsAt = performance.now(); }));
  }).observe(document, { subtree: true, childList: true });
}`;
const firstRows = `new Promise((done, fail) => {
  const look = () => (window.rowsAt ? done(rowsAt) : setTimeout(look, 10));
  look();
  setTimeout(() => fail(new Error('no rows at ' + location.href)), ${MAX_WAIT_MS});
})`;
/** Scrolls to the other end, a bit with each frame: a log starts at its last line. */
const scrollThrough = `new Promise((done) => {
  const log = location.pathname.endsWith('/logs') && document.querySelector('[role=log]');
  const scrolled = log || document.scrollingElement;
  const step = (scrolled.scrollHeight - scrolled.clientHeight) / ${SCROLLED_FRAMES};
  const pauses = [];
  let last = performance.now();
  const draw = () => {
    const now = performance.now();
    pauses.push(now - last);
    last = now;
    if (pauses.length > ${SCROLLED_FRAMES}) return done(pauses);
    scrolled.scrollTop += log ? -step : step;
    requestAnimationFrame(draw);
  };
  requestAnimationFrame(draw);
})`;
