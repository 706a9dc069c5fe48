import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Surface } from '../../lib/surfaces/surface-paths.ts';
import type { Bundle } from './bundle.ts';

/** What the scripts of one bundle hold and weigh, in bytes. */
const weight = z.object({
  bytes: z.int(),
  gzipBytes: z.int(),
  /** Of each package in it, and of the project's own code, which is `.`. The largest comes first. */
  packages: z.record(z.string(), z.int()),
});
export type Weight = z.infer<typeof weight>;

/** What all bundles hold and weigh. It is kept in `bundles.json` beside this file. */
export const bundleReport = z.record(z.string(), weight);

/** Above this many times what the report says, a bundle has grown. */
const GROWTH = 1.05;

const server = ['@modelcontextprotocol/sdk/'];
const models = ['ai/', '@ai-sdk/'];
const embedded = ['@electric-sql/'];

/** What a function may weigh in bytes, and beginnings of the paths in node_modules that it may not hold. */
const limits: Record<Surface['name'], { gzipBytes: number; banned: readonly string[] }> = {
  backups: { gzipBytes: 250_000, banned: [...embedded, ...models, ...server] },
  live: { gzipBytes: 250_000, banned: [...embedded, ...models, ...server] },
  observatory: { gzipBytes: 700_000, banned: [...embedded, ...server] },
  mcp: { gzipBytes: 400_000, banned: [...embedded, ...models] },
};

/** A script for browsers, which the function sends and never runs. */
const isSent = (path: string) => path.startsWith('assets/');

/** The source files in a bundle, and how many bytes each has in it. */
function listFiles({ metafile }: Bundle): { path: string; bytes: number }[] {
  return Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .map(([path, { bytesInOutput: bytes }]) => ({ path, bytes }))
    .filter(({ path, bytes }) => bytes > 0 && !isSent(path));
}

const IN_PACKAGE = /^(.*node_modules\/)((?:@[^/]+\/)?[^/]+)\//;

/** Weighs a bundle and what it holds. */
export function weigh(bundle: Bundle): Weight {
  const packages = new Map<string, number>();
  for (const { path, bytes } of listFiles(bundle)) {
    const name = IN_PACKAGE.exec(path)?.[2] ?? '.';
    packages.set(name, (packages.get(name) ?? 0) + bytes);
  }
  const sent = Object.entries(bundle.metafile.outputs)
    .filter(([, { inputs }]) => Object.keys(inputs).some(isSent))
    .map(([path]) => basename(path));
  const scripts = bundle.files.filter(({ path }) => path.endsWith('.mjs') && !sent.includes(path));
  const add = (sum: number, bytes: number) => sum + bytes;
  return {
    bytes: scripts.map(({ contents }) => contents.length).reduce(add, 0),
    gzipBytes: scripts.map(({ contents }) => gzipSync(contents).length).reduce(add, 0),
    packages: Object.fromEntries([...packages].sort(([, a], [, b]) => b - a)),
  };
}

/** What is installed, by folder, as `package-lock.json` has it. */
const lockFile = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })),
});

/** What is in a bundle that must not be there, in words: banned libraries, and those of development. */
export function findBanned(name: Surface['name'], bundle: Bundle): string[] {
  const lock = lockFile.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')));
  const complaints = listFiles(bundle).flatMap(({ path }) => {
    const [, folder, package_] = IN_PACKAGE.exec(path) ?? [];
    if (folder === undefined) return [];
    const banned = limits[name].banned.find((start) => path.startsWith(start, folder.length));
    if (banned !== undefined) return [`${name} holds ${banned}, which it must not`];
    return lock.packages[`${folder}${package_}`]?.dev
      ? [`${name} holds ${package_}, which is for development`]
      : [];
  });
  return [...new Set(complaints)];
}

/**
 * What a function weighs against its limit and what the report says of it, in words: too heavy, grown by
 * more than 5 %, or with a package that the report does not name.
 */
export function compareWeight(
  name: Surface['name'],
  now: Weight,
  reported: Weight | undefined,
): string[] {
  const complaints: string[] = [];
  const most = limits[name].gzipBytes;
  if (now.gzipBytes > most) {
    complaints.push(`${name} weighs ${now.gzipBytes} bytes with gzip: ${most} are allowed`);
  }
  if (!reported) return [...complaints, `${name} is not in the report`];
  for (const unit of ['bytes', 'gzipBytes'] as const) {
    if (now[unit] > reported[unit] * GROWTH) {
      complaints.push(`${name} has grown from ${reported[unit]} to ${now[unit]} (${unit})`);
    }
  }
  const known = new Set(Object.keys(reported.packages));
  const added = Object.keys(now.packages).filter((package_) => !known.has(package_));
  if (added.length > 0) complaints.push(`${name} holds more: ${added.join(', ')}`);
  return complaints;
}
