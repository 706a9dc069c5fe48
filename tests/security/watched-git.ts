import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** A wrapper around the real git that records how it was called. */
export interface WatchedGit {
  /** The PATH that includes the wrapper. */
  path: string;
  /** The arguments and then the environment of each process so far. */
  processes(): Promise<string[]>;
}

/** Creates a wrapper in `folder`, which also holds its records. */
export async function watchGit(folder: string): Promise<WatchedGit> {
  const [bin, seen] = [join(folder, 'bin'), join(folder, 'seen')];
  for (const path of [bin, seen]) await mkdir(path);
  // The real git comes after this folder on the PATH.
  const path = process.env.PATH ?? '';
  const script = `#!/bin/sh\n{ printf '%s\\n' "$@"; env; } > '${seen}/'$$\nPATH='${path}' exec git "$@"\n`;
  await writeFile(join(bin, 'git'), script);
  await chmod(join(bin, 'git'), 0o755);
  return {
    path: `${bin}${delimiter}${path}`,
    async processes() {
      const names = await readdir(seen);
      return Promise.all(names.map((name) => readFile(join(seen, name), 'latin1')));
    },
  };
}
