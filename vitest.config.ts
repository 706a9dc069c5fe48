import { defineConfig } from 'vitest/config';

/** They load modules that read the environment of their process. */
const alone = ['tests/api/**/*.test.ts', 'tests/instances/**/*.test.ts'];

const shared = {
  environment: 'node',
  // Most of a file's time is its database's, which is another process or WebAssembly on the same cores.
  pool: 'forks',
  maxWorkers: 2,
  // Generous: a slow machine is no failure.
  testTimeout: 90_000,
  hookTimeout: 120_000,
} as const;

export default defineConfig({
  test: {
    globalSetup: ['tests/support/shared-postgres.ts'],
    maxWorkers: 2,
    projects: [
      { test: { ...shared, name: 'alone', include: alone } },
      {
        test: {
          ...shared,
          name: 'together',
          include: ['tests/**/*.test.ts'],
          exclude: alone,
          // One process runs many files, and loads only once what they all load.
          isolate: false,
        },
      },
    ],
  },
});
