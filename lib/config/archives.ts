import { resolve } from 'node:path';
import * as z from 'zod';
import { wholeNumber } from './values.ts';

/** The archive folder. */
export const archiveVariables = z.object({
  BACKUP_ARCHIVE_PATH: z
    .string()
    .optional()
    .transform((path) => (path === undefined ? undefined : resolve(path)))
    .describe('archive folder; default `<DATA_DIR>/archives`'),
});

/** Where the page restores to. */
export const restoreVariables = z.object({
  RESTORE_DIR: z
    .string()
    .optional()
    .transform((path) => (path === undefined ? undefined : resolve(path)))
    .describe(
      'folder below which the page and `POST /api/restores` restore repositories; default `<DATA_DIR>/restored`',
    ),
});

/** The folder below which the server restores. */
export function restorePath(config: { DATA_DIR: string; RESTORE_DIR?: string | undefined }) {
  return config.RESTORE_DIR ?? resolve(config.DATA_DIR, 'restored');
}

/** Where the archives are, and the PATH on which to find the programs that read them. */
export interface ArchiveConfig {
  DATA_DIR: string;
  BACKUP_ARCHIVE_PATH?: string | undefined;
  PATH?: string | undefined;
}

/** The archive folder, by default in DATA_DIR. */
export function archivePath(config: ArchiveConfig) {
  return config.BACKUP_ARCHIVE_PATH ?? resolve(config.DATA_DIR, 'archives');
}

/** How many versions to keep: all of the last days, then one per day, week and month. */
export interface RetentionPolicy {
  allDays: number;
  daily: number;
  weekly: number;
  monthly: number;
}

/** Versions of archives: retention, checks and increments. */
export const versionVariables = z.object({
  BACKUP_KEEP: z
    .string()
    .default('7d all, 30 daily, 12 weekly, 24 monthly')
    .transform((text, context) => {
      const policy = parseRetention(text);
      if (policy !== null) return policy;
      context.addIssue('must look like `7d all, 30 daily, 12 weekly, 24 monthly`');
      return z.NEVER;
    })
    .describe(
      'which versions of a repository are kept: all of the last days, then the newest of each day, week and month; each part is optional',
    ),
  VERIFY_BUDGET_MINUTES: wholeNumber(0, 24 * 60)
    .default(2)
    .describe(
      'how many minutes each run spends rereading archives to find damage, starting with those unchecked for longest; each archive at most once in 20 hours',
    ),
  BACKUP_INCREMENTS_FROM_MIB: wholeNumber(0, 1_000_000)
    .optional()
    .describe(
      'archives of at least this size in MiB get increments instead of being rewritten with each change; default 64, or 1 with a git destination in the layout `parts`',
    ),
});

/** The folder of the mirrors, which are only a cache. */
export function mirrorFolder({ DATA_DIR }: { DATA_DIR: string }): string {
  return resolve(DATA_DIR, 'mirrors');
}

/** Null if the text is not a valid policy. */
function parseRetention(text: string): RetentionPolicy | null {
  const policy: RetentionPolicy = { allDays: 0, daily: 0, weekly: 0, monthly: 0 };
  const seen = new Set<string>();
  for (const part of text.split(',')) {
    const [, count = '', unit = ''] =
      /^\s*(\d{1,5})\s*(d all|daily|weekly|monthly)\s*$/.exec(part) ?? [];
    if (unit === '' || seen.has(unit)) return null;
    seen.add(unit);
    policy[unit === 'd all' ? 'allDays' : (unit as 'daily')] = Number(count);
  }
  return policy;
}
