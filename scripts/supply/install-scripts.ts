import type { LockedPackage } from './lock.ts';

/**
 * Holds `allowScripts` against the packages that have an install script. Returns what is wrong, each as a
 * line: a package that nobody decided on, a decision on none, and a script in what ships.
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
      .map((name) => `${name} has an install script that allowScripts does not mention`),
    ...Object.keys(allowScripts)
      .filter((name) => !names.has(name))
      .map((name) => `allowScripts mentions ${name}, which has no install script`),
    ...scripted
      .filter(({ isDevelopment }) => !isDevelopment)
      .map(({ name }) => `${name}, which ships, has an install script`),
  ];
}
