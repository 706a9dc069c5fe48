import { stat } from 'node:fs/promises';
import { databaseVariables } from '../../lib/config/database.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { formatMinute } from '../../lib/text/format-minute.ts';
import { counted } from '../../lib/text/units.ts';
import { listDrillFiles } from '../../lib/worker/record/drill-spool.ts';
import { listSpools } from '../../lib/worker/record/spool-file.ts';
import { withinLimit } from './measuring.ts';
import { type Check, failed, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const WITHIN_MS = 5_000;

/** Checks what is waiting in DATA_DIR/spool for the database, which need not be reachable. */
export async function examineSpool(subject: Subject): Promise<Check> {
  const found = await withConfig(databaseVariables, subject, ({ DATA_DIR: dataFolder }) =>
    withinLimit(
      WITHIN_MS,
      subject.clock,
      async () => {
        const [runs, drills] = await Promise.all([
          listSpools(dataFolder),
          listDrillFiles(dataFolder),
        ]);
        const what = [
          ...(runs.length > 0 ? [counted(runs.length, 'file of a run', 'files of runs')] : []),
          ...(drills.length > 0
            ? [counted(drills.length, 'file of a drill', 'files of drills')]
            : []),
        ].join(' and ');
        if (what === '') return ok('nothing is waiting for the database');
        const since = await findOldest([...runs.slice(0, 1), ...drills.slice(0, 1)]);
        return warning(
          `not in the database yet: ${what}${since === null ? '' : `, since ${formatMinute(since)}`}`,
          `\`npm run worker -- ${runs.length > 0 ? 'run' : 'drill'}\` with this DATA_DIR delivers them once it reaches the database, and says what it cannot deliver`,
        );
      },
      (reason) => failed(reason, 'give this user permission to read it'),
    ),
  );
  return toCheck('spool', found);
}

/** When the oldest of these files was last written; null if a worker has delivered them in the meantime. */
async function findOldest(paths: readonly string[]): Promise<string | null> {
  const found = await Promise.all(paths.map((path) => nullIfMissing(stat(path))));
  const times = found.flatMap((file) => (file === null ? [] : [file.mtimeMs]));
  return times.length === 0 ? null : new Date(Math.min(...times)).toISOString();
}
