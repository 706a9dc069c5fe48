import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().default(''),
      license: z.string().optional(),
      integrity: z.string().optional(),
      hasInstallScript: z.boolean().optional(),
      dev: z.boolean().optional(),
    }),
  ),
});
const packageFile = z.object({ allowScripts: z.record(z.string(), z.boolean()) });

/** A package that is installed, as package-lock.json has it. */
export interface LockedPackage {
  name: string;
  version: string;
  /** Where it is below the project. */
  path: string;
  /** As it says itself: an SPDX expression. */
  license: string | undefined;
  /** Its hash. */
  integrity: string | undefined;
  hasInstallScript: boolean;
  /** Needed for development alone. */
  isDevelopment: boolean;
}

/** Every package of package-lock.json. */
export function readLock(folder: string): LockedPackage[] {
  const { packages } = lockFile.parse(readJson(folder, 'package-lock.json'));
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, it]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: it.version,
      path,
      license: it.license,
      integrity: it.integrity,
      hasInstallScript: it.hasInstallScript ?? false,
      // One that is `devOptional` is also installed where those of development are left out.
      isDevelopment: it.dev ?? false,
    }));
}

/** `allowScripts` of package.json: which packages may run something when they are installed. */
export function readAllowScripts(folder: string): Record<string, boolean> {
  return packageFile.parse(readJson(folder, 'package.json')).allowScripts;
}

function readJson(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(folder, name), 'utf8'));
}
