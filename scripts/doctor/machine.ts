import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { relative } from 'node:path';
import { z } from 'zod';
import { archivePath, archiveVariables } from '../../lib/config/archives.ts';
import { databaseVariables } from '../../lib/config/database.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { installGit, checkGit as requireGit } from '../../lib/git/git-version.ts';
import { formatBytes } from '../../lib/text/units.ts';
import { withinLimit } from './measuring.ts';
import { type Check, failed, off, ok, toCheck } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 5_000;

const folderVariables = z.object({ ...databaseVariables.shape, ...archiveVariables.shape });

/** Checks git, which creates and reads archives. */
export async function checkGit({ environment, clock }: Subject): Promise<Check> {
  const found = await withinLimit(
    WITHIN_MS,
    clock,
    async () => {
      const version = await requireGit(environment, AbortSignal.timeout(WITHIN_MS));
      return ok(`${version}, new enough`);
    },
    (reason) => failed(reason.replace(`: ${installGit}`, ''), installGit),
  );
  return toCheck('git', found);
}

/** Checks the archive folder, and the free space on its disk. */
export async function checkArchives(subject: Subject): Promise<Check> {
  const found = await withConfig(folderVariables, subject, (config) => {
    const folder = archivePath(config);
    const name = relative('.', folder);
    return withinLimit(
      WITHIN_MS,
      subject.clock,
      async () => {
        const disk = await nullIfMissing(statfs(folder));
        if (disk === null && config.BACKUP_ARCHIVE_PATH === undefined) {
          return off(
            `${name} does not exist yet: \`npm start\` or the first run creates it`,
            undefined,
            { effect: 'none' },
          );
        }
        if (disk === null) {
          return failed(
            'the folder of BACKUP_ARCHIVE_PATH does not exist',
            'mount its disk, or create the folder',
          );
        }
        await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
        return ok(`${name}, ${formatBytes(disk.bavail * disk.bsize)} free`);
      },
      (reason) => failed(reason, 'give this user permission to read and write it'),
    );
  });
  return toCheck('archives', found);
}
