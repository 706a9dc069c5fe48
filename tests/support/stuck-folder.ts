import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const nest =
  'name=$(printf %0200d 0); for level in $(seq 25); do mkdir "$name" && cd -P "./$name" || exit 1; done';

/** Makes a folder with paths that are too long for the system, so that not even root can remove it by its path. */
export async function plantStuckFolder(path: string): Promise<{ remove(): Promise<void> }> {
  await mkdir(path, { recursive: true });
  await execute('sh', ['-c', nest], { cwd: path });
  return { remove: () => removeStuckFolder(path) };
}

/** Removes a folder whatever the length of its paths. */
export async function removeStuckFolder(path: string): Promise<void> {
  await execute('rm', ['-rf', '--', path]);
}
