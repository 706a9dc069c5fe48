import { resolve } from 'node:path';
import * as z from 'zod';

/** The archive folder. */
export const archiveVariables = z.object({
  BACKUP_ARCHIVE_PATH: z
    .string()
    .optional()
    .transform((path) => (path === undefined ? undefined : resolve(path)))
    .describe('archive folder; default `<DATA_DIR>/archives`'),
});

/** The archive folder, by default in DATA_DIR. */
export function archivePath(config: {
  BACKUP_ARCHIVE_PATH?: string | undefined;
  DATA_DIR: string;
}) {
  return config.BACKUP_ARCHIVE_PATH ?? resolve(config.DATA_DIR, 'archives');
}
