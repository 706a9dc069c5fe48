import { tmpdir } from 'node:os';
import type { ArchiveReader } from '../archives/archives.ts';
import { loadOnce } from '../async.ts';
import { archivePath } from '../config/archives.ts';
import type { DatabaseConfig } from '../config/database.ts';
import type { Environment } from '../config/read.ts';
import type { Deps } from '../deps.ts';
import { MAX_ANSWER_CHARS } from './answer-budget.ts';
import type { BackupSource } from './backup-source.ts';

type ArchiveConfig = Pick<DatabaseConfig, 'DATA_DIR'> & {
  BACKUP_ARCHIVE_PATH?: string | undefined;
  PATH?: Environment[string];
};

/**
 * Reads the archives on this machine and removes secrets from their content. The code is loaded on first use.
 */
export function createLocalArchives(
  { config, clock, redactor }: Pick<Deps<ArchiveConfig>, 'config' | 'clock' | 'redactor'>,
  backups: Pick<BackupSource, 'findArchive'>,
): ArchiveReader {
  const load = loadOnce(async () => {
    const { createArchiveReader } = await import('../archives/archives.ts');
    return createArchiveReader({
      root: archivePath(config),
      findRecord: (repository, signal) => backups.findArchive(repository, signal),
      scratchFolder: tmpdir(),
      environment: { PATH: config.PATH },
      clock,
      redactor,
      limits: { answerCharacters: MAX_ANSWER_CHARS },
    });
  });
  return {
    verify: async (...asked) => (await load()).verify(...asked),
    inspect: async (...asked) => (await load()).inspect(...asked),
    extract: async (...asked) => (await load()).extract(...asked),
  };
}
