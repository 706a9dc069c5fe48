import { describe, expect, it } from 'vitest';
import type { Bundle } from '../../scripts/build/bundle.ts';
import { compareWeight, findBanned, type Weight, weigh } from '../../scripts/build/report.ts';

const nothing = new Uint8Array();

/** A bundle that contains files of these sizes. */
const holding = (files: Record<string, number>, code = nothing): Bundle => ({
  files: [{ path: 'index.mjs', contents: code }],
  metafile: {
    inputs: {},
    outputs: {
      'index.mjs': {
        bytes: code.length,
        inputs: Object.fromEntries(
          Object.entries(files).map(([path, bytesInOutput]) => [path, { bytesInOutput }]),
        ),
        imports: [],
        exports: [],
      },
    },
  },
});

const reported: Weight = { bytes: 1_000, gzipBytes: 400, packages: { '.': 600, hono: 400 } };

describe('comparing a bundle with the report', () => {
  it('accepts a bundle that is 5 % larger', () => {
    expect(compareWeight('mcp', { ...reported, bytes: 1_050, gzipBytes: 420 }, reported)).toEqual(
      [],
    );
  });

  it.each([
    ['bytes', 1_051],
    ['gzipBytes', 421],
  ])('reports a bundle whose %s have grown to %d', (unit, value) => {
    const complaints = compareWeight('mcp', { ...reported, [unit]: value }, reported);
    expect(complaints).toEqual([expect.stringContaining(`mcp has grown`)]);
    expect(complaints[0]).toContain(unit);
  });

  it('reports a package that is not in the report', () => {
    const packages = { ...reported.packages, zod: 1 };
    expect(compareWeight('mcp', { ...reported, packages }, reported)).toEqual([
      'mcp has new packages: zod',
    ]);
  });

  it('reports a bundle that is not in the report', () => {
    expect(compareWeight('mcp', reported, undefined)).toEqual(['mcp is not in the report']);
  });

  it.each([
    ['backups', 440_000],
    ['live', 265_000],
    ['observatory', 750_000],
    ['mcp', 420_000],
  ] as const)(
    'rejects a bundle of %s above %d gzipped bytes, whatever the report says',
    (name, most) => {
      const weight = { ...reported, gzipBytes: most };
      expect(compareWeight(name, weight, weight)).toEqual([]);
      const heavier = { ...reported, gzipBytes: most + 1 };
      expect(compareWeight(name, heavier, heavier)).toHaveLength(1);
    },
  );
});

it('measures the size of each package in a bundle, largest first', () => {
  const files = {
    'lib/a.ts': 5,
    'node_modules/hono/dist/hono.js': 20,
    'node_modules/hono/dist/context.js': 10,
    'node_modules/@upstash/redis/nodejs.mjs': 40,
    'node_modules/ai/node_modules/zod/index.js': 7,
    'node_modules/zod/unused.js': 0,
  };
  const { bytes, gzipBytes, packages } = weigh(holding(files, Buffer.from('a'.repeat(1_000))));
  expect(Object.entries(packages)).toEqual([
    ['@upstash/redis', 40],
    ['hono', 30],
    ['zod', 7],
    ['.', 5],
  ]);
  expect(bytes).toBe(1_000);
  expect(gzipBytes).toBeLessThan(100);
});

describe('a package that must not be bundled', () => {
  const everywhere = ['@electric-sql/pglite/dist/index.js', 'esbuild/lib/main.js'];
  const models = ['ai/dist/index.js', '@ai-sdk/provider/dist/index.js'];
  const server = ['@modelcontextprotocol/sdk/dist/esm/types.js'];

  it.each([
    ['backups', [...everywhere, ...models, ...server]],
    ['live', [...everywhere, ...models, ...server]],
    ['observatory', [...everywhere, ...server]],
    ['mcp', [...everywhere, ...models]],
  ] as const)('is found in %s', (name, files) => {
    for (const file of files) {
      const bundle = holding({ 'lib/a.ts': 1, [`node_modules/${file}`]: 1 });
      expect(findBanned(name, bundle), file).toHaveLength(1);
    }
  });

  it('is none of those that the function is made of', () => {
    const files = {
      'lib/ai/a.ts': 1,
      'node_modules/airline/a.js': 1,
      'node_modules/pg/lib/client.js': 1,
    };
    expect(findBanned('backups', holding(files))).toEqual([]);
    expect(findBanned('observatory', holding({ 'node_modules/ai/dist/index.js': 1 }))).toEqual([]);
    expect(findBanned('mcp', holding({ [`node_modules/${server}`]: 1 }))).toEqual([]);
  });

  it('is not reported if nothing of it is left', () => {
    expect(findBanned('backups', holding({ 'node_modules/ai/dist/index.js': 0 }))).toEqual([]);
  });
});
