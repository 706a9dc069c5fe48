import { configDefaults, defineConfig, type TestUserConfig } from 'vitest/config';
import { nodeFlags } from './tests/support/node-flags.ts';
import { SkippedReporter } from './tests/support/skipped-reporter.ts';

/**
 * One process runs many test files of these folders, so that shared modules and the browser are loaded only once. In
 * the other folders each file has its own process: they keep starting git or other commands, which takes longer the more
 * memory a process has, or load modules that read its environment.
 */
const together = [
  'alerts',
  'async',
  'backups',
  'config',
  'database',
  'drizzle',
  'gateway',
  'http',
  'live',
  'mcp',
  'observatory',
  'page',
  'rate-limits',
  'records',
  'search',
  'surfaces',
  'text',
  'tools',
].map((folder) => `tests/${folder}/**/*.test.ts`);

/** Twice as many as the cores of a small machine, because tests often wait. */
const maxWorkers = 4;

const shared = {
  environment: 'node',
  // Node.js runs the files itself: compiling each of them with Vite takes a quarter of the time. `vi.mock` needs Vite.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  pool: 'forks',
  execArgv: [...nodeFlags],
  maxWorkers,
  // Far more than anything takes, even where ten other processes want the same two cores: a limit that high costs nothing.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
  setupFiles: ['tests/support/patience.ts'],
  // Tests that start browsers, servers and processes on a busy machine may fail by bad luck; a defect fails twice. Vitest
  // marks tests that passed only on the retry, and the check run lists them.
  retry: 1,
} satisfies TestUserConfig;

export default defineConfig({
  test: {
    globalSetup: ['tests/support/shared-postgres.ts'],
    reporters: ['default', new SkippedReporter()],
    maxWorkers,
    projects: [
      {
        test: {
          ...shared,
          name: 'alone',
          include: ['tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...together],
        },
      },
      { test: { ...shared, name: 'together', include: together, isolate: false } },
    ],
  },
});
