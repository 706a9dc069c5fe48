import { tmpdir } from 'node:os';
import type { ArchiveReader } from '../archives/archives.ts';
import { loadOnce } from '../async.ts';
import { type ArchiveConfig, archivePath } from '../config/archives.ts';
import type { Deps } from '../http/deps.ts';
import { MAX_ANSWER_CHARS } from './answer-budget.ts';
import type { BackupSource } from './backup-source.ts';

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
      inOwnProcess: true,
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
