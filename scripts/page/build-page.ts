import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';

const WEB = resolve(import.meta.dirname, '../../web');

/** Where the built page is. */
export const PAGE_FOLDER = join(WEB, 'dist');

/** Builds the page unless it is there and newer than its sources. `say` is told when it takes a while. */
export async function buildPageWhenStale(say: (text: string) => void): Promise<void> {
  const built = await changedAt(join(PAGE_FOLDER, 'index.html'));
  if (built !== null && built > (await newestSource())) return;
  say('Building the page…\n');
  await buildPage();
}

/** Throws what the builder printed when it fails. */
export async function buildPage(): Promise<void> {
  await execa({ cwd: WEB, preferLocal: true })`vite build --logLevel warn`;
}

async function newestSource(): Promise<number> {
  const sources = await readdir(join(WEB, 'src'), { recursive: true });
  const files = [
    'index.html',
    'package.json',
    'vite.config.ts',
    ...sources.map((it) => `src/${it}`),
  ];
  const times = await Promise.all(files.map((file) => changedAt(join(WEB, file))));
  return Math.max(...times.map((time) => time ?? 0));
}

/** Null for a file that is not there. */
async function changedAt(path: string): Promise<number | null> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
