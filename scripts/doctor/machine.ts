import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { relative } from 'node:path';
import { z } from 'zod';
import { archivePath, archiveVariables } from '../../lib/platform/config/archives.ts';
import { databaseVariables } from '../../lib/platform/config/database.ts';
import { formatBytes } from '../../lib/platform/units.ts';
import { whenThere } from '../../lib/platform/when-there.ts';
import { checkGit as requireGit } from '../../lib/worker/git-version.ts';
import { withinLimit } from './measuring.ts';
import { type Check, named } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 5_000;

const folderVariables = z.object({ ...databaseVariables.shape, ...archiveVariables.shape });

/** git, with which archives are made and read. */
export async function checkGit({ environment, clock }: Subject): Promise<Check> {
  const found = await withinLimit(
    WITHIN_MS,
    clock,
    async () => {
      await requireGit(environment, AbortSignal.timeout(WITHIN_MS));
      return { status: 'ok', detail: 'found, new enough' };
    },
    (reason) => ({ status: 'failed', detail: reason, next: 'install git 2.32 or newer' }),
  );
  return named('git', found);
}

/** The folder of the archives, and the room on its disk. */
export async function checkArchives(subject: Subject): Promise<Check> {
  const found = await withConfig(folderVariables, subject, (config) => {
    const folder = archivePath(config);
    const name = relative('.', folder);
    return withinLimit(
      WITHIN_MS,
      subject.clock,
      async () => {
        const disk = await whenThere(statfs(folder));
        if (disk === null && config.BACKUP_ARCHIVE_PATH === undefined) {
          return { status: 'ok', detail: `${name}, made by the first \`npm start\` or run` };
        }
        if (disk === null) {
          return {
            status: 'failed',
            detail: 'the folder of BACKUP_ARCHIVE_PATH is not there',
            next: 'mount its disk, or make the folder',
          };
        }
        await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
        return { status: 'ok', detail: `${name}, ${formatBytes(disk.bavail * disk.bsize)} free` };
      },
      (reason) => ({ status: 'failed', detail: reason, next: 'let this user read and write it' }),
    );
  });
  return named('archives', found);
}
