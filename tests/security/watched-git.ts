import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** A git in front of the real one that writes down how it was called. */
export interface WatchedGit {
  /** The PATH with it. */
  path: string;
  /** The arguments and then the environment of each process so far. */
  processes(): Promise<string[]>;
}

/** Creates one in `folder`, and keeps there what it sees. */
export async function watchGit(folder: string): Promise<WatchedGit> {
  const [bin, seen] = [join(folder, 'bin'), join(folder, 'seen')];
  for (const path of [bin, seen]) await mkdir(path);
  // The real git is found behind this folder.
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
