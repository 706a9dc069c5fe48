import { createHash, randomBytes } from 'node:crypto';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { formatManifest, hashText } from '../../lib/archives/base/manifest.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import { createLog } from '../../lib/log/log.ts';
import { type KeptArchive, readArchiveRecord } from '../../lib/worker/archive/archive.ts';
import { uncountedFigures } from '../../lib/worker/archive/figures.ts';
import { parseSource } from '../../lib/worker/base/source.ts';
import { type Offsite, openOffsite } from '../../lib/worker/offsite/offsite.ts';
import { printTable } from '../report.ts';
import type { StoreWorld } from './world.ts';

const BUNDLE_BYTES = 2_000;
const AT_ONCE = 4;

/** Measures many small archives with one version: first all new, then all unchanged. */
export async function measureSmallArchives(
  { address, countRequests, folder }: StoreWorld,
  { count }: { count: number },
): Promise<void> {
  const archiveFolder = join(folder, 'archives');
  await mkdir(archiveFolder);
  const archives: KeptArchive[] = [];
  for (let n = 0; n < count; n++) archives.push(await makeArchive(archiveFolder, n));
  const rows: string[][] = [];
  for (const what of ['all new', 'all unchanged']) {
    const offsite = await open(address, folder, archiveFolder);
    await countRequests();
    const begun = performance.now();
    await offsite.check(async () => undefined);
    const checking = await countRequests();
    await sendAll(offsite, archives);
    const requests = await countRequests();
    const seconds = (performance.now() - begun) / 1_000;
    rows.push([what, (requests / count).toFixed(2), `${checking}`, `${seconds.toFixed(1)} s`]);
  }
  const header = ['case', 'requests for each', 'requests to check the listing', 'time'];
  printTable(`${count} small archives, ${AT_ONCE} at once`, header, rows);
}

async function open(address: string, folder: string, archiveFolder: string): Promise<Offsite> {
  const offsite = await openOffsite({
    environment: {},
    ...{ addresses: [parseStoreAddress(address)], needed: 1, bytesPerSecond: null, recipients: [] },
    ...{ namesKey: null, dataFolder: join(folder, 'data'), archiveFolder, clock: systemClock },
    signal: new AbortController().signal,
    log: createLog('warn', systemClock),
  });
  if (offsite === null) throw new Error('there is no store');
  return offsite;
}

async function sendAll(offsite: Offsite, archives: readonly KeptArchive[]): Promise<void> {
  const limit = pLimit(AT_ONCE);
  const source = parseSource('/srv/app', '/');
  await Promise.all(
    archives.map((archive) =>
      limit(async () => {
        for (const storing of await offsite.send(source, archive, async () => undefined)) {
          if (storing.status === 'failed') throw new Error(storing.reason);
        }
      }),
    ),
  );
}

/** An archive as the worker would write it, except for the bundle, which is never read here. */
async function makeArchive(folder: string, n: number): Promise<KeptArchive> {
  const name = `team__app-${n}`;
  const key = `${name}.bundle`;
  const bytes = randomBytes(BUNDLE_BYTES);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await writeFile(join(folder, key), bytes);
  const at = new Date(Date.UTC(2026, 0, 1)).toISOString();
  const manifest = formatManifest({
    ...{ format: 1, repository: `team/app-${n}`, address: null, version: 1, at, run_id: 1 },
    ...{ head_branch: null, refs: {}, prerequisites: [], previous_sha256: null },
    files: [{ name: key, sha256, size_bytes: BUNDLE_BYTES }],
  });
  await mkdir(join(folder, `${name}.versions`));
  await writeFile(join(folder, `${name}.versions`, '1.json'), manifest);
  const { mtimeMs } = await stat(join(folder, key));
  const note = {
    ...{ version: 2, archive_sha256: sha256, archive_size_bytes: BUNDLE_BYTES },
    ...{ archive_modified_ms: Math.floor(mtimeMs), head_branch: null },
    figures: uncountedFigures(new Map()),
    versions: [
      { version: 1, at, run_id: 1, manifest_sha256: hashText(manifest), files: 1, ref_count: 0 },
    ],
  };
  await writeFile(join(folder, `${key}.json`), JSON.stringify(note));
  const record = await readArchiveRecord(folder, key);
  if (record === null) throw new Error('the note is not valid');
  return { key, record };
}
