import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { messageOf } from '../../lib/errors.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { childEnvironment } from '../../lib/processes/child-environment.ts';
import { compressFiles } from './compress-files.ts';

const WEB = resolve(import.meta.dirname, '../../web');

/** Where the built page is. */
export const PAGE_FOLDER = join(WEB, 'dist');

/** Builds the page if necessary. A failure is printed; the server works without its page. */
export async function preparePage(): Promise<void> {
  try {
    await buildPageWhenStale((text) => process.stdout.write(text));
  } catch (error) {
    process.stderr.write(
      `The page could not be built, and the server runs without it: ${messageOf(error)}\n`,
    );
  }
}

/** Builds the page unless it is newer than its sources. Calls `say` when it has to build. */
export async function buildPageWhenStale(say: (text: string) => void): Promise<void> {
  const built = await changedAt(join(PAGE_FOLDER, 'index.html'));
  if (built !== null && built > (await newestSource())) return;
  say('Building the page…\n');
  await buildPage();
}

/** Builds the page next to the one being served, then replaces that. Throws the builder's output if it fails. */
async function buildPage(): Promise<void> {
  const folder = `${PAGE_FOLDER}-${process.pid}`;
  try {
    // With a different NODE_ENV, as in tests, React's development build would be bundled.
    const env = { ...childEnvironment(process.env), NODE_ENV: 'production' };
    await execa({
      cwd: WEB,
      preferLocal: true,
      env,
      extendEnv: false,
    })`vite build --logLevel error --outDir ${folder}`;
    await compressFiles(join(folder, 'assets'));
    await rm(PAGE_FOLDER, { recursive: true, force: true });
    await rename(folder, PAGE_FOLDER);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function newestSource(): Promise<number> {
  const below = async (folder: string) =>
    (await readdir(join(WEB, folder), { recursive: true })).map((file) => join(folder, file));
  const files = ['index.html', 'package.json', 'vite.config.ts', 'start-script.ts'];
  files.push(...(await below('src')), ...(await below('public')));
  const times = await Promise.all(files.map((file) => changedAt(join(WEB, file))));
  return Math.max(...times.map((time) => time ?? 0));
}

/** Null if the file does not exist. */
async function changedAt(path: string): Promise<number | null> {
  return (await nullIfMissing(stat(path)))?.mtimeMs ?? null;
}
