import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { readBundleHeader } from '../../lib/archives/base/bundle-header.ts';
import { openArchive } from '../../lib/archives/base/open-archive.ts';
import { git } from '../../tests/support/git.ts';
import { printTable, quantile, ratio } from '../report.ts';

const execute = promisify(execFile);
const GOAL = 1.3;
const MEMORY_GOAL_MB = 200;

/** A measurement compared with plain tools: milliseconds, and the MB of our process. */
interface Pair {
  ours: number;
  plain: number;
  memory: number;
}

/**
 * Measures archives of `megabytes` MB: verifying a bundle compared with `sha256sum` and `git index-pack --strict`, and
 * inspecting a tar.gz compared with `tar tzf`, alternating in the same run.
 */
export async function measureArchives({ megabytes = 500, rounds = 3 } = {}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-archives-'));
  try {
    await makeBundle(folder, megabytes);
    await makeTarball(folder, megabytes);
    const bundle = await inTurns(rounds, () => measureBundle(folder));
    const tarball = await inTurns(rounds, () => measureTarball(folder));
    const sizes = await Promise.all(
      [BUNDLE, TARBALL].map(async (name) => (await stat(join(folder, name))).size / 1e6),
    );
    printTable(
      `Archives, ${rounds} pairs each`,
      ['what', 'file', 'ours', 'plain tools', 'ours / plain (median of pairs)', 'memory', 'goal'],
      [
        row('verify_archive_integrity / sha256sum + git index-pack --strict', sizes[0], bundle),
        row('inspect_archive_contents / tar tzf', sizes[1], tarball),
      ],
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const BUNDLE = 'team__app.bundle';
const TARBALL = 'app.tar.gz';

function row(what: string, megabytes: number | undefined, pairs: Pair[]): string[] {
  const middle = (values: number[]) => quantile(values, 0.5);
  const share = middle(pairs.map(({ ours, plain }) => ours / plain));
  const memory = Math.max(...pairs.map((pair) => pair.memory));
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const isReached = share <= GOAL && memory < MEMORY_GOAL_MB;
  return [
    what,
    `${megabytes?.toFixed(0)} MB`,
    seconds(middle(pairs.map(({ ours }) => ours))),
    seconds(middle(pairs.map(({ plain }) => plain))),
    ratio(share),
    `${memory.toFixed(0)} MB`,
    isReached ? 'reached' : `MISSED (${GOAL}×, ${MEMORY_GOAL_MB} MB)`,
  ];
}

/** The first round does not count: it brings the file into memory. */
async function inTurns(rounds: number, measure: () => Promise<Pair>): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (let round = 0; round <= rounds; round++) pairs.push(await measure());
  return pairs.slice(1);
}

async function measureBundle(folder: string): Promise<Pair> {
  const { ms, maxRssKiB } = await readAsServer(folder, 'verify', 'team/app');
  const bundle = join(folder, BUNDLE);
  const plainGit = join(folder, 'plain.git');
  await git(folder, 'init', '--quiet', '--bare', plainGit);
  const archive = await openArchive(folder, 'team/app', null);
  const { length } = await readBundleHeader(archive.handle);
  await archive.close();
  const plain = await timeShell(
    `sha256sum "$1" >&2 && tail -c +${length + 1} "$1" | git --git-dir="$2" index-pack --strict --stdin`,
    bundle,
    plainGit,
  );
  await rm(plainGit, { recursive: true });
  return { ours: ms, plain, memory: maxRssKiB / 1_000 };
}

async function measureTarball(folder: string): Promise<Pair> {
  const { ms, maxRssKiB } = await readAsServer(folder, 'inspect', 'app');
  const plain = await timeShell('tar tzf "$1" | wc -l', join(folder, TARBALL));
  return { ours: ms, plain, memory: maxRssKiB / 1_000 };
}

/** Runs in a separate process, so that its memory is that of this work. */
async function readAsServer(folder: string, what: string, repository: string) {
  const script = resolve(import.meta.dirname, 'archive-child.ts');
  const { stdout } = await execute(process.execPath, [script, folder, folder, what, repository]);
  return JSON.parse(stdout) as { ms: number; maxRssKiB: number };
}

async function timeShell(script: string, ...args: string[]): Promise<number> {
  const start = performance.now();
  await execute('sh', ['-c', script, 'sh', ...args]);
  return performance.now() - start;
}

/** Files of 8 to 64 KB that compress to about three quarters. */
function* makeFiles(megabytes: number): Generator<{ name: string; text: string }> {
  let left = (megabytes * 1e6) / 0.76;
  for (let n = 0; left > 0; n++) {
    const text = randomBytes(6_000 + (n % 8) * 6_000).toString('base64');
    left -= text.length;
    yield { name: `d${n % 100}/file-${n}.txt`, text };
  }
}

async function makeBundle(folder: string, megabytes: number): Promise<void> {
  const path = join(folder, 'source');
  await git(folder, 'init', '--quiet', '--initial-branch=main', path);
  for (const setting of ['core.compression=1', 'pack.window=0', 'gc.auto=0']) {
    await git(path, 'config', ...(setting.split('=') as [string, string]));
  }
  const folders = [...Array(100).keys()].map((n) => join(path, `d${n}`));
  for (const one of folders) await mkdir(one);
  for (const { name, text } of makeFiles(megabytes)) await writeFile(join(path, name), text);
  for (let n = 0; n < 10; n++) {
    await git(path, 'add', `d*${n}/file-*`);
    await git(path, 'commit', '--quiet', '--message', `change ${n}`);
  }
  await git(path, 'bundle', 'create', '--quiet', join(folder, BUNDLE), '--all');
  await rm(path, { recursive: true });
}

async function makeTarball(folder: string, megabytes: number): Promise<void> {
  const tar = pack();
  const written = pipeline(tar, createGzip({ level: 1 }), createWriteStream(join(folder, TARBALL)));
  for (const { name, text } of makeFiles(megabytes)) {
    await new Promise<void>((done, fail) => {
      tar.entry({ name }, text, (error) => (error ? fail(error) : done()));
    });
  }
  tar.finalize();
  await written;
}
