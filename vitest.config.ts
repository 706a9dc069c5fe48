import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    environment: 'node',
    globalSetup: ['tests/support/shared-postgres.ts'],
    // Most of a file's time is its database's, which is another process or WebAssembly on the same cores.
    pool: 'forks',
    maxWorkers: 2,
    // Generous: a slow machine is no failure.
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
});
