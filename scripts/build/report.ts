import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Surface } from '../../lib/surfaces/surface-paths.ts';
import type { Bundle } from './bundle.ts';

/** The size of a bundle's scripts, in bytes. */
const weight = z.object({
  bytes: z.int(),
  gzipBytes: z.int(),
  /** By package, largest first. `.` is the project's own code. */
  packages: z.record(z.string(), z.int()),
});
export type Weight = z.infer<typeof weight>;

/** The sizes of all bundles, stored in `bundles.json`. */
export const bundleReport = z.record(z.string(), weight);

/** A bundle has grown if it exceeds its size in the report by this factor. */
const GROWTH = 1.05;

const server = ['@modelcontextprotocol/sdk/'];
const models = ['ai/', '@ai-sdk/'];
const embedded = ['@electric-sql/'];

/** The maximum size of each function, and the packages (path prefixes in node_modules) that it must not contain. */
const limits: Record<Surface['name'], { gzipBytes: number; banned: readonly string[] }> = {
  backups: { gzipBytes: 440_000, banned: [...embedded, ...models, ...server] },
  live: { gzipBytes: 265_000, banned: [...embedded, ...models, ...server] },
  observatory: { gzipBytes: 750_000, banned: [...embedded, ...server] },
  mcp: { gzipBytes: 420_000, banned: [...embedded, ...models] },
};

/** Scripts for browsers, which the function serves but does not run. */
const isServed = (path: string) => path.startsWith('assets/');

/** The source files of a bundle, and their sizes in it. */
function listFiles({ metafile }: Bundle): { path: string; bytes: number }[] {
  return Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .map(([path, { bytesInOutput: bytes }]) => ({ path, bytes }))
    .filter(({ path, bytes }) => bytes > 0 && !isServed(path));
}

const IN_PACKAGE = /^(.*node_modules\/)((?:@[^/]+\/)?[^/]+)\//;

/** Measures a bundle and its packages. */
export function weigh(bundle: Bundle): Weight {
  const packages = new Map<string, number>();
  for (const { path, bytes } of listFiles(bundle)) {
    const name = IN_PACKAGE.exec(path)?.[2] ?? '.';
    packages.set(name, (packages.get(name) ?? 0) + bytes);
  }
  const served = Object.entries(bundle.metafile.outputs)
    .filter(([, { inputs }]) => Object.keys(inputs).some(isServed))
    .map(([path]) => basename(path));
  const scripts = bundle.files.filter(
    ({ path }) => path.endsWith('.mjs') && !served.includes(path),
  );
  const add = (sum: number, bytes: number) => sum + bytes;
  return {
    bytes: scripts.map(({ contents }) => contents.length).reduce(add, 0),
    gzipBytes: scripts.map(({ contents }) => gzipSync(contents).length).reduce(add, 0),
    packages: Object.fromEntries([...packages].sort(([, a], [, b]) => b - a)),
  };
}

/** The packages of `package-lock.json`, by folder. */
const lockFile = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })),
});

/** Messages about packages that a bundle must not contain: banned ones and development dependencies. */
export function findBanned(name: Surface['name'], bundle: Bundle): string[] {
  const lock = lockFile.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')));
  const complaints = listFiles(bundle).flatMap(({ path }) => {
    const [, folder, package_] = IN_PACKAGE.exec(path) ?? [];
    if (folder === undefined) return [];
    const banned = limits[name].banned.find((start) => path.startsWith(start, folder.length));
    if (banned !== undefined) return [`${name} contains ${banned}, which is not allowed`];
    return lock.packages[`${folder}${package_}`]?.dev
      ? [`${name} contains ${package_}, a development dependency`]
      : [];
  });
  return [...new Set(complaints)];
}

/**
 * Messages about a function that exceeds its limit, has grown by more than 5 %, or contains a package that is
 * not in the report.
 */
export function compareWeight(
  name: Surface['name'],
  now: Weight,
  reported: Weight | undefined,
): string[] {
  const complaints: string[] = [];
  const max = limits[name].gzipBytes;
  if (now.gzipBytes > max) {
    complaints.push(`${name} has ${now.gzipBytes} bytes with gzip, more than the limit of ${max}`);
  }
  if (!reported) return [...complaints, `${name} is not in the report`];
  for (const unit of ['bytes', 'gzipBytes'] as const) {
    if (now[unit] > reported[unit] * GROWTH) {
      complaints.push(`${name} has grown from ${reported[unit]} to ${now[unit]} (${unit})`);
    }
  }
  const known = new Set(Object.keys(reported.packages));
  const added = Object.keys(now.packages).filter((package_) => !known.has(package_));
  if (added.length > 0) complaints.push(`${name} has new packages: ${added.join(', ')}`);
  return complaints;
}
