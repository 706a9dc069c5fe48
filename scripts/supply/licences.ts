import type { LockedPackage } from './lock.ts';

/** Licences under which a part may be in an MIT program: they ask for no more than to be named. */
const compatible: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]);

/** Packages with another licence that are fine all the same, each with the reason. */
const exceptions: Record<string, string> = {};

/** Returns the packages that ship under a licence that is not compatible, each as a line. */
export function checkLicences(packages: readonly LockedPackage[]): string[] {
  return packages
    .filter(({ isDevelopment, name }) => !isDevelopment && !Object.hasOwn(exceptions, name))
    .filter(({ license }) => !isCompatible(license ?? ''))
    .map(({ name, license }) => `${name} has the licence ${license ?? 'that it does not name'}`);
}

/**
 * Of `A OR B` one must be compatible, of `A AND B` both. Brackets may stand around the whole alone: with
 * others in it an expression is none that is known to be compatible.
 */
export function isCompatible(expression: string): boolean {
  const inner = expression.replace(/^\(([^()]*)\)$/, '$1');
  return inner
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((name) => compatible.has(name.trim())));
}
