import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { parseJson } from '../lib/json.ts';

/** Licences that require no more than attribution. */
const compatibleLicences = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
];
/** Advisories that do not affect us, by id (`GHSA-…`), each with the reason. */
const acceptedAdvisories: Record<string, string> = {};

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().default(''),
      integrity: z.string().optional(),
      hasInstallScript: z.boolean().default(false),
      /** A link to a workspace. */
      link: z.boolean().default(false),
      /** A development dependency. */
      dev: z.boolean().default(false),
    }),
  ),
});
export type LockedPackage = z.output<typeof lockFile>['packages'][string] & {
  name: string;
  path: string;
};

/** Every package of package-lock.json, without our own workspaces. */
export function readLock(folder: string): LockedPackage[] {
  const { packages } = lockFile.parse(readJson(folder, 'package-lock.json'));
  return Object.entries(packages)
    .filter(([path]) => path.includes('node_modules/'))
    .filter(([, { link }]) => !link)
    .map(([path, locked]) => ({ ...locked, path, name: path.replace(/^.*node_modules\//, '') }));
}

/** `allowScripts` of package.json: which packages may run install scripts. */
export function readAllowScripts(folder: string): Record<string, boolean> {
  const shape = z.object({ allowScripts: z.record(z.string(), z.boolean()) });
  return shape.parse(readJson(folder, 'package.json')).allowScripts;
}

/**
 * Finds install scripts that are missing in allowScripts or belong to production dependencies, and obsolete
 * entries of allowScripts. One line each.
 */
export function checkInstallScripts(
  packages: readonly LockedPackage[],
  allowScripts: Record<string, boolean>,
): string[] {
  const scripted = packages.filter(({ hasInstallScript }) => hasInstallScript);
  const names = new Set(scripted.map(({ name }) => name));
  return [
    ...[...names]
      .filter((name) => !Object.hasOwn(allowScripts, name))
      .map((name) => `${name} has an install script and is not in allowScripts`),
    ...Object.keys(allowScripts)
      .filter((name) => !names.has(name))
      .map((name) => `${name} is in allowScripts, but has no install script`),
    ...scripted
      .filter(({ dev }) => !dev)
      .map(({ name }) => `${name} is a production dependency with an install script`),
  ];
}

/** Finds production dependencies with an incompatible licence. One line each. */
export async function checkLicences(folder: string): Promise<string[]> {
  // Not --onlyAllow, which accepts `MIT AND GPL-3.0-only` as MIT. Unlicense is not in the list, because the
  // checker would accept UNLICENSED, too.
  const { stdout } = await execa({ preferLocal: true, localDir: import.meta.dirname })`
    license-checker-rseidelsohn --start ${folder} --production --excludePrivatePackages --unknown
    --excludeLicenses ${compatibleLicences.join(',')} --json`;
  const found = z.record(z.string(), z.object({ licenses: z.unknown() })).parse(JSON.parse(stdout));
  return Object.entries(found)
    .filter(([, { licenses }]) => licenses !== 'Unlicense')
    .map(([name, { licenses }]) => `${name} has the licence ${licenses}`);
}

const advisory = z.object({
  title: z.string(),
  url: z.string(),
  severity: z.string(),
  name: z.string(),
});
const auditReport = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({ via: z.array(z.union([z.string(), advisory])) }),
  ),
});

/**
 * Runs npm audit on production dependencies. Returns a line for each advisory that is not accepted, or a single line
 * if the audit fails.
 */
export async function audit(folder: string, environment: NodeJS.ProcessEnv): Promise<string[]> {
  const { stdout } = await execa('npm', ['audit', '--omit=dev', '--json'], {
    cwd: folder,
    env: environment,
    extendEnv: false,
    reject: false,
  });
  const output = parseJson(stdout);
  const report = auditReport.safeParse(output).data;
  if (report === undefined) {
    const failure = z.object({ message: z.string() }).safeParse(output).data;
    const why = failure?.message ?? 'npm audit returned no report';
    return [`the audit failed: ${why}`];
  }
  const found = Object.values(report.vulnerabilities)
    .flatMap(({ via }) => via)
    .filter((cause) => typeof cause !== 'string');
  return [...new Map(found.map((cause) => [cause.url, cause])).values()]
    .filter(({ url }) => !Object.hasOwn(acceptedAdvisories, url.split('/').at(-1) ?? ''))
    .map(({ name, severity, title, url }) => `${name}: ${severity}: ${title} (${url})`);
}

function readJson(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(resolve(folder), name), 'utf8'));
}
