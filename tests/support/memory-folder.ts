import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
const PREFIX = 'observatory-tests-';
/** A whole test run needs less than half of this at once. */
const NEEDED_BYTES = 4 * 1024 ** 3;

/**
 * Keeps the temporary files of this process and of its children in memory: databases and git repositories are thousands
 * of small files, which take longer to write to disk than the work on them. Returns a function that removes them. Does
 * nothing if the system has no such folder or too little space in it, or if TMPDIR names another place.
 */
export function useMemoryForTemporaryFiles(): () => void {
  if (process.env.TMPDIR !== undefined || !hasSpace()) return () => undefined;
  removeLeftovers();
  const folder = `${MEMORY}/${PREFIX}${process.pid}`;
  mkdirSync(folder);
  // Postgres runs as its own user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  return () => {
    delete process.env.TMPDIR;
    process.off('exit', remove);
    remove();
  };
}

function hasSpace(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= NEEDED_BYTES;
}

/** Removes what killed test runs have left there. */
function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY)) {
    const isLeft = name.startsWith(PREFIX) && !existsSync(`/proc/${name.slice(PREFIX.length)}`);
    if (isLeft) rmSync(`${MEMORY}/${name}`, { recursive: true, force: true });
  }
}
