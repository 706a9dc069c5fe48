import { resolve } from 'node:path';
import { z } from 'zod';

/** Where the worker keeps archives, and others read them (decisions 2). */
export const archiveVariables = z.object({
  BACKUP_ARCHIVE_PATH: z
    .string()
    .optional()
    .transform((path) => (path === undefined ? undefined : resolve(path)))
    .describe('folder of the archives; default `<DATA_DIR>/archives`'),
});

/** Where archives are kept (decisions 2, BACKUP_ARCHIVE_PATH). */
export function archivePath(config: {
  BACKUP_ARCHIVE_PATH?: string | undefined;
  DATA_DIR: string;
}) {
  return config.BACKUP_ARCHIVE_PATH ?? resolve(config.DATA_DIR, 'archives');
}
