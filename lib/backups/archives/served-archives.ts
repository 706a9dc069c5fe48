import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { PlainArchives } from '../../archives/plain-archives.ts';
import { loadOnce } from '../../async.ts';
import { archivePath } from '../../config/archives.ts';
import type { DatabaseConfig } from '../../config/database.ts';
import type { Environment } from '../../config/read.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { createDatabaseSource } from '../../tools/database-source.ts';
import type { ServedArchives } from './archives-deps.ts';

type ArchiveConfig = Pick<DatabaseConfig, 'DATA_DIR'> & {
  BACKUP_ARCHIVE_PATH?: string | undefined;
  PATH?: Environment[string];
};

/** A check reads a whole archive and may use all cores. */
const MAX_CHECKS = 1;
/** Calls that read or unpack an archive, of which four run at a time. */
const MAX_READS = 12;

/** The archives on this machine. What reads them is loaded with the first call. */
export function createServedArchives({
  config,
  db,
  clock,
  log,
}: Pick<Deps<ArchiveConfig>, 'config' | 'db' | 'clock' | 'log'>): ServedArchives {
  const root = archivePath(config);
  const backups = createDatabaseSource({ db, clock, log });
  const load = loadOnce(async () => {
    const { createPlainArchives } = await import('../../archives/plain-archives.ts');
    return createPlainArchives({
      root,
      findRecord: (repository, signal) => backups.findArchive(repository, signal),
      scratchFolder: tmpdir(),
      environment: { PATH: config.PATH },
      clock,
      limits: { listedCharacters: 200_000 },
    });
  });

  async function explainMissing(): Promise<string | null> {
    try {
      await access(root, constants.R_OK | constants.X_OK);
      if ((await stat(root)).isDirectory()) return null;
    } catch {
      // Whatever the cause is, its message would name a path of this machine.
    }
    return 'the archive folder (BACKUP_ARCHIVE_PATH) is missing on this server, or may not be read';
  }

  async function open(): Promise<PlainArchives> {
    const missing = await explainMissing();
    if (missing !== null) throw new AppError('SERVICE_UNAVAILABLE', missing);
    return load();
  }

  const checks = createGate(MAX_CHECKS, 'another archive is being verified: try again later');
  const reads = createGate(MAX_READS, 'too many archives are being read: try again later');
  return {
    explainMissing,
    check: (...asked) => checks(async () => (await open()).check(...asked)),
    describe: (...asked) => reads(async () => (await open()).describe(...asked)),
    list: (...asked) => reads(async () => (await open()).list(...asked)),
    readFile: (...asked) => reads(async () => (await open()).readFile(...asked)),
    download: async (...asked) => (await open()).download(...asked),
  };
}

const RETRY_AFTER_SECONDS = '5';

/** Runs at most `max` pieces of work at a time. Throws RATE_LIMITED above that. */
function createGate(max: number, message: string) {
  let running = 0;
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= max) {
      const headers = { 'Retry-After': RETRY_AFTER_SECONDS };
      throw new AppError('RATE_LIMITED', message, { headers });
    }
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
}
