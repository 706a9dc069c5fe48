import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { ArchiveCall } from '../../archives/archive-access.ts';
import { measureArchiveFolder } from '../../archives/archive-folder.ts';
import type { PlainArchives } from '../../archives/plain-archives.ts';
import { loadOnce } from '../../async.ts';
import { type ArchiveConfig, archivePath } from '../../config/archives.ts';
import { AppError } from '../../errors.ts';
import type { Deps } from '../../http/deps.ts';
import { findArchive } from '../../tools/database-source.ts';
import type { ServedArchives } from '../base/archives-deps.ts';

/** Calls that list or unpack an archive, running or queued; four run at a time. */
const MAX_READS = 12;
const MAX_READS_PER_CALLER = 4;
/** Zips that are being downloaded. */
const MAX_ZIPS = 4;
const MAX_ZIPS_PER_CALLER = 2;

/** The archives on this machine. The code that reads them is loaded on the first call. */
export function createServedArchives({
  config,
  db,
  clock,
}: Pick<Deps<ArchiveConfig>, 'config' | 'db' | 'clock'>): ServedArchives {
  const root = archivePath(config);
  const load = loadOnce(async () => {
    const { createPlainArchives } = await import('../../archives/plain-archives.ts');
    return createPlainArchives({
      root,
      findRecord: (repository) => findArchive(db, repository),
      scratchFolder: tmpdir(),
      environment: { PATH: config.PATH },
      clock,
      inOwnProcess: true,
      limits: { listedCharacters: 200_000 },
    });
  });

  async function explainMissing(): Promise<string | null> {
    try {
      await access(root, constants.R_OK | constants.X_OK);
      if ((await stat(root)).isDirectory()) return null;
    } catch {
      // The message of the error would disclose a path of this machine.
    }
    return 'the archive folder (BACKUP_ARCHIVE_PATH) is missing on this server, or cannot be read';
  }

  async function requireFolder(): Promise<void> {
    const missing = await explainMissing();
    if (missing !== null) throw new AppError('SERVICE_UNAVAILABLE', missing);
  }

  async function open(): Promise<PlainArchives> {
    await requireFolder();
    return load();
  }

  const reads = createGate(
    { total: MAX_READS, perCaller: MAX_READS_PER_CALLER },
    'too many archives are being read: try again later',
  );
  const zips = createGate(
    { total: MAX_ZIPS, perCaller: MAX_ZIPS_PER_CALLER },
    'too many zips are being downloaded: try again later',
  );
  return {
    explainMissing,
    async measureFolder() {
      await requireFolder();
      return measureArchiveFolder(root);
    },
    check: async (...asked) => (await open()).check(...asked),
    // Not limited: it only reads a header.
    describe: async (...asked) => (await open()).describe(...asked),
    list: (repository, selection, call) =>
      reads(call, async () => (await open()).list(repository, selection, call)),
    readFile: (repository, path, tip, call) =>
      reads(call, async () => (await open()).readFile(repository, path, tip, call)),
    compare: (repository, request, call) =>
      reads(call, async () => (await open()).compare(repository, request, call)),
    compareFile: (repository, request, call) =>
      reads(call, async () => (await open()).compareFile(repository, request, call)),
    zip: (repository, request, call) =>
      // Its place is taken until it is sent.
      new Promise((resolve, reject) => {
        zips(call, async () => {
          const zip = await (await open()).zip(repository, request, call);
          resolve(zip);
          await zip.ended;
        }).catch(reject);
      }),
    download: async (...asked) => (await open()).download(...asked),
  };
}

const RETRY_AFTER_SECONDS = '5';

/** Limits concurrent work in total and per caller. Throws RATE_LIMITED above either limit. */
function createGate(max: { total: number; perCaller: number }, message: string) {
  const running = new Map<string, number>();
  let total = 0;
  return async <Result>(
    { caller = '' }: ArchiveCall,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    const own = running.get(caller) ?? 0;
    if (total >= max.total || own >= max.perCaller) {
      const headers = { 'Retry-After': RETRY_AFTER_SECONDS };
      throw new AppError('RATE_LIMITED', message, { headers });
    }
    total += 1;
    running.set(caller, own + 1);
    try {
      return await work();
    } finally {
      total -= 1;
      const left = (running.get(caller) ?? 1) - 1;
      if (left === 0) running.delete(caller);
      else running.set(caller, left);
    }
  };
}
