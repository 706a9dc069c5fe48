import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { nodeFlags } from '../support/node-flags.ts';

export default defineConfig({
  test: {
    root: resolve(import.meta.dirname, '../..'),
    include: ['tests/soak/**/*.soak.ts'],
    environment: 'node',
    // As for the tests.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    globalSetup: ['tests/support/shared-postgres.ts'],
    pool: 'forks',
    execArgv: [...nodeFlags],
    // Sequentially, because each part measures or kills something, and would disturb the others.
    maxWorkers: 1,
    // The fault matrix breaks its parts concurrently, because it mostly waits for time limits.
    maxConcurrency: 16,
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    // The same as for the tests.
    retry: 1,
  },
});
