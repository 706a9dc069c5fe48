import { readdir } from 'node:fs/promises';
import { relative } from 'node:path';
import { z } from 'zod';
import { archivePath, archiveVariables } from '../../lib/config/archives.ts';
import { databaseVariables } from '../../lib/config/database.ts';
import type { Database } from '../../lib/database/database.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { listExpected } from '../../lib/records/recording/archive-looks.ts';
import { cleanText } from '../../lib/text/clean-text.ts';
import { counted, firstOf } from '../../lib/text/units.ts';
import { findIdentity } from '../../lib/worker/archive/lease/machine-lease.ts';
import { READ_WITHIN_MS, unreadable, withinLimit } from './measuring.ts';
import { type Check, failed, off, ok, toCheck } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const variables = z.object({ ...databaseVariables.shape, ...archiveVariables.shape });

/** Checks whether the archives that are recorded are in the archive folder of this machine. Reads none of them. */
export async function checkRecordedArchives(subject: Subject, db: Database): Promise<Check> {
  const found = await withConfig(variables, subject, (config) => {
    const folder = archivePath(config);
    return withinLimit(
      READ_WITHIN_MS,
      subject.clock,
      async () => {
        const machine = await findIdentity(config.DATA_DIR);
        const all = await listExpected(db, machine ?? '');
        const expected = all.filter(({ isElsewhere, isKnownLoss }) => !isElsewhere && !isKnownLoss);
        if (expected.length === 0) return off('no archive is recorded here', undefined, none);
        const there = new Set(await nullIfMissing(readdir(folder)));
        const gone = expected.filter(({ archiveKey }) => !there.has(archiveKey));
        const count = counted(expected.length, 'archive');
        if (gone.length === 0) return ok(`${count} recorded, all in ${relative('.', folder)}`);
        const which =
          gone.length === expected.length
            ? `${folder} has none of the ${count} that the database records`
            : cleanText(
                `${gone.length} of ${count} are not in ${folder}: ${firstOf(gone.map(({ repository }) => repository))}`,
              );
        return failed(
          which,
          'mount the disk of the archive folder, or correct BACKUP_ARCHIVE_PATH; `npm run worker -- restore OWNER/NAME --from STORE --to FOLDER` restores what a store has',
          none,
        );
      },
      unreadable,
    );
  });
  return toCheck('recorded_archives', found);
}

const none = { effect: 'none' } as const;
