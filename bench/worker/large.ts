import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveNote, noteName } from '../../lib/archives/base/note.ts';
import { printTable, ratio } from '../report.ts';
import { times } from '../share.ts';
import { addCommit, makeRepository } from './repositories.ts';
import { header, medianSeconds, row, seconds } from './rows.ts';
import type { BenchWorker, World } from './world.ts';

/** 100,000 objects with 400 MB of incompressible data. */
const FULL = { commits: 25_000, blobBytes: 16_000 };
const NEW_BYTES = 2 ** 21;
const SMALL_BYTES = 10_000;
const CHAIN = times(50, 2);
const ARCHIVE = 'local__large.bundle';

/** Measures the first backup of a large repository, the backup of one new commit, and restoring from a long chain. */
export async function measureLarge(
  world: World,
  { scale, rounds }: { scale: number; rounds: number },
): Promise<void> {
  const { folder, shell } = world;
  const source = join(folder, 'large.git');
  await makeRepository(source, { ...FULL, commits: Math.round(FULL.commits * scale) });
  const mirror = join(folder, 'mirror.git');
  const bundle = join(folder, 'plain.bundle');
  const clone = () =>
    shell(
      'git clone --quiet --mirror "$1" "$2" && git --git-dir="$2" bundle create --quiet "$3" --all && sha256sum "$3"',
      `file://${source}`,
      mirror,
      bundle,
    );
  // For archives of any size, so that a small scale measures the same.
  const variables = { BACKUP_INCREMENTS_FROM_MIB: scale < 1 ? '1' : '64' };

  const first = { ours: [] as number[], plain: [] as number[] };
  let worker: BenchWorker | null = null;
  for (let round = 0; round < rounds; round++) {
    await worker?.remove();
    await rm(mirror, { recursive: true, force: true });
    await rm(bundle, { force: true });
    worker = await world.makeWorker(variables);
    const plain = await clone();
    first.plain.push(plain);
    first.ours.push((await worker.run('run', '--source', source)).ms);
  }
  if (worker === null) throw new Error('there was no round');

  const one = { ours: [] as number[], plain: [] as number[], written: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const fresh = await addCommit(source, NEW_BYTES);
    one.plain.push(await shell('git --git-dir="$1" fetch --quiet', mirror));
    const { ms, writtenBytes } = await worker.run('run', '--source', source);
    if (!(writtenBytes > 0)) throw new Error('TMPDIR must be on a disk: its writes are counted');
    one.ours.push(ms);
    one.written.push(writtenBytes / fresh);
  }
  await lengthenChain(worker, source);
  await shell(
    'git --git-dir="$1" fetch --quiet && git --git-dir="$1" bundle create --quiet "$2" --all',
    mirror,
    bundle,
  );
  const restored = await measureRestore(world, worker, { bundle, rounds });
  const divide = ({ ours, plain }: { ours: number[]; plain: number[] }) =>
    ours.map((ms, round) => ms / (plain[round] ?? Number.NaN));
  const middle = ({ ours, plain }: { ours: number[]; plain: number[] }): [string, string] => [
    medianSeconds(ours),
    medianSeconds(plain),
  ];
  const more = one.ours.map((ms, round) => (ms - (one.plain[round] ?? Number.NaN)) / 1_000);
  printTable(
    `A repository of ${Math.round(100_000 * scale)} objects and ${Math.round(400 * scale)} MB, medians of ${rounds}`,
    header,
    [
      row('first backup / clone, bundle, sha256sum', middle(first), divide(first), 1, ratio),
      row('one new commit, more than git fetch', middle(one), more, 3, seconds),
      row('one new commit, bytes written / new', ['', ''], one.written, 3, ratio),
      row(
        `restore from ${CHAIN} files / clone of a bundle`,
        middle(restored),
        divide(restored),
        1.5,
        ratio,
      ),
    ],
  );
  await worker.remove();
}

/** Backs up commits until the archive has the number of files that the case needs. */
async function lengthenChain(worker: BenchWorker, source: string): Promise<void> {
  for (;;) {
    const note = await readFile(join(worker.archives, noteName(ARCHIVE)), 'utf8');
    const files = 1 + archiveNote.parse(JSON.parse(note)).increments.length;
    if (files >= CHAIN) return;
    await addCommit(source, SMALL_BYTES);
    await worker.run('run', '--source', source);
  }
}

async function measureRestore(
  { folder, shell }: World,
  worker: BenchWorker,
  { bundle, rounds }: { bundle: string; rounds: number },
) {
  const times = { ours: [] as number[], plain: [] as number[] };
  const [restored, cloned] = [join(folder, 'restored'), join(folder, 'cloned')];
  for (let round = 0; round < rounds; round++) {
    times.plain.push(await shell('git clone --quiet "$1" "$2"', bundle, cloned));
    times.ours.push((await worker.run('restore', 'local/large', '--to', restored)).ms);
    await rm(restored, { recursive: true });
    await rm(cloned, { recursive: true });
  }
  return times;
}
