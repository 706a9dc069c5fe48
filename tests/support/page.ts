import { setTimeout as sleep } from 'node:timers/promises';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { type LocalServer, startLocalServer } from '../../scripts/local-server.ts';
import { buildPageWhenStale } from '../../scripts/page/build-page.ts';
import { launchChromium } from './chromium.ts';
import { createEmbedded, createPostgres, type TestDatabase } from './databases.ts';
import { TEST_SECRET } from './deps.ts';
import { temporaryFolder } from './folders.ts';
import { observatoryEnvironment } from './observatory-client.ts';

const args = [
  ...['--disable-gpu', '--disable-quic', '--no-first-run'],
  // Chromium would otherwise try to reach its own services.
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  // Names for tests of what a browser does only on this machine's own names.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
  // All windows of a context share what they have compiled.
  '--process-per-site',
  // Optimizing the code of a page takes longer than a test uses it.
  '--js-flags=--no-opt,--no-maglev',
];

/** The browser of this process, which runs many test files. It ends with the process. */
let browser: Browser | undefined;

/** Starts the browser unless it runs. One that has crashed fails the tests that use it, not those after them. */
async function findBrowser(): Promise<Browser> {
  if (!browser?.isConnected()) browser = await launchChromium(args);
  return browser;
}

/** The server of `npm start` with its own database, and windows of a browser. */
export interface PageWorld {
  database: TestDatabase;
  server: LocalServer;
  /** The folder from which the server reads archives. */
  archives: string;
  /** Stops the server and starts it again at the same address. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
  /** Opens a window in a context, by default one of its own without cookies or stored data. */
  openWindow(context?: BrowserContext): Promise<Window>;
  close(): Promise<void>;
}

/** A browser window. */
export interface Window {
  context: BrowserContext;
  page: Page;
  /** What the browser complained about: script errors, and refusals by the page's own policy. */
  complaints: string[];
  open(path: string): Promise<void>;
  /** Gets the session cookie as the page does, without opening a page. */
  logIn(): Promise<void>;
}

/** How long the closing of a window may take. */
const MAX_CLOSING_MS = 60_000;

/** Starts the server, with variables in addition to those of a complete installation. */
export async function startPageWorld(
  environment: Environment = {},
  createDatabase: () => Promise<TestDatabase> = createPostgres,
  { startsRuns = false }: Pick<PageUse, 'startsRuns'> = {},
): Promise<PageWorld> {
  await buildPageWhenStale(() => undefined);
  const [running, database] = await Promise.all([findBrowser(), createDatabase()]);
  const contexts = new Set<BrowserContext>();
  const archives = await temporaryFolder();
  const startServer = (PORT: string) =>
    startLocalServer(
      {
        ...observatoryEnvironment,
        DATABASE_URL: database.url,
        BACKUP_ARCHIVE_PATH: archives.path,
        INTERNAL_SECRET: TEST_SECRET,
        PATH: process.env.PATH,
        PORT,
        LOG_LEVEL: 'error',
        SEARCH_TIME_BUDGET_SECONDS: '60',
        ...environment,
      },
      { workerFolder: startsRuns ? archives.path : null },
    );
  let server = await startServer('0');
  const { url } = server;
  return {
    database,
    archives: archives.path,
    get server() {
      return server;
    },
    async restart(meanwhile) {
      await server.close();
      await meanwhile();
      server = await startServer(new URL(url).port);
    },
    async openWindow(given) {
      const context = given ?? (await running.newContext({ reducedMotion: 'reduce' }));
      contexts.add(context);
      // Far more than anything takes, also on a busy machine.
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      const open = async (path: string) => {
        await page.goto(`${url}${path}`);
      };
      const logIn = async () => {
        const [, code] = (server.issueLoginLink() ?? '').split('#');
        const answer = await context.request.post(`${url}/auth/session`, { data: { code } });
        if (!answer.ok()) throw new Error(`the login was answered with ${answer.status()}`);
      };
      return { context, page, complaints, open, logIn };
    },
    async close() {
      await Promise.all([server.close(), ...[...contexts].map(closeContext)]);
      await Promise.all([database.close(), archives.remove()]);
    },
  };
}

/** The browser is ended anyway: a window that a busy browser does not close in time fails no test. */
async function closeContext(context: BrowserContext): Promise<void> {
  await Promise.race([context.close(), sleep(MAX_CLOSING_MS, undefined, { ref: false })]);
}

/** How a group of tests uses the page. */
export interface PageUse {
  /** Variables of the server. Called once, after the hooks that precede the call of `usePage`. */
  environment?: () => Environment;
  /** Each window starts without a session cookie. */
  startsLoggedOut?: boolean;
  /** Gives each test its own context, because one of them sets its clock. */
  setsClock?: boolean;
  /** The server has the embedded database. */
  isEmbedded?: boolean;
  /** The server starts the worker when runs are due or asked for. */
  startsRuns?: boolean;
}

/**
 * Gives each test of the calling group a new window, logged in, on the one server of the group. A window that stays
 * open keeps the compiled page for the others, which halves the time of a test.
 */
export function usePage({
  environment,
  startsLoggedOut = false,
  setsClock = false,
  isEmbedded = false,
  startsRuns = false,
}: PageUse = {}) {
  let world: PageWorld;
  let kept: Window | undefined;
  let window: Window;

  beforeAll(async () => {
    const createDatabase = isEmbedded ? createEmbedded : createPostgres;
    world = await startPageWorld(environment?.(), createDatabase, { startsRuns });
    if (setsClock) return;
    kept = await world.openWindow();
    await kept.open('/app/');
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    window = await world.openWindow(kept?.context);
    if (!startsLoggedOut) await window.logIn();
  });
  afterEach(async () => {
    if (kept === undefined) return window.context.close();
    const { context, page } = kept;
    await Promise.all(context.pages().map((one) => one !== page && one.close()));
    await Promise.all([context.clearCookies(), context.clearPermissions()]);
    await page.evaluate('localStorage.clear()');
  });

  return {
    get world() {
      return world;
    },
    get db() {
      return world.database.db;
    },
    get context() {
      return window.context;
    },
    get page() {
      return window.page;
    },
    get complaints() {
      return window.complaints;
    },
    open: (path: string) => window.open(path),
    logIn: () => window.logIn(),
  };
}

/** Calls a function with a window, logged in, on a server of its own with these variables. */
export async function withPage(
  environment: Environment,
  use: (window: Window, world: PageWorld) => Promise<void>,
): Promise<void> {
  const world = await startPageWorld(environment);
  try {
    const window = await world.openWindow();
    await window.logIn();
    await use(window, world);
  } finally {
    await world.close();
  }
}

/** Axe's rules about colors. All others have the same result in both themes. */
const colorRules = ['color-contrast', 'link-in-text-block'];

/** What axe finds on a page in both themes: the rule, and its remark on each element. Should be empty. */
export async function findViolations(page: Page): Promise<string[][]> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  // A page with a stream is never idle.
  await page.waitForLoadState('networkidle', { timeout: 5_000 }).catch(() => undefined);
  await page.evaluate(axe.source);
  return [...(await findIn('light')), ...(await findIn('dark', colorRules))];

  async function findIn(colorScheme: 'light' | 'dark', rules?: string[]): Promise<string[][]> {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    await page.evaluate(endTransitions);
    const violations = await page.evaluate(runAxe, rules);
    return violations.map(([rule, ...remarks]) => [`${rule} (${colorScheme})`, ...remarks]);
  }
}

/** Some colors change gradually. */
const endTransitions = `for (const it of document.getAnimations()) if (it instanceof CSSTransition) it.finish()`;

/** Runs in the page, where `axe` is the global variable of its source. Returns the violated rules with their remarks. */
async function runAxe(rules: string[] | undefined): Promise<string[][]> {
  const { violations } = await axe.run(
    // In a frame that runs no script, axe cannot run either.
    { exclude: 'iframe[sandbox=""]' },
    { resultTypes: ['violations'], ...(rules && { runOnly: rules }) },
  );
  return violations.map(({ id, nodes }) => [
    id,
    ...nodes.map((it) => it.any[0]?.message ?? it.html),
  ]);
}
