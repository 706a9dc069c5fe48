import type { Database } from '../../lib/database/database.ts';
import { checkHostLogins } from './host-logins.ts';
import { checkIncidents } from './incidents.ts';
import { checkLastRun } from './last-run.ts';
import { checkRecordedArchives } from './recorded-archives.ts';
import type { Check } from './report.ts';
import type { Subject } from './subject.ts';

/** Checks the state of the backups in the database, each part with its own time limit. */
export async function checkBackups(subject: Subject, db: Database): Promise<Check[]> {
  const checks = [checkIncidents, checkLastRun, checkHostLogins];
  const all = [
    ...checks.map((check) => check(subject, db)),
    ...(subject.isHosted ? [] : [checkRecordedArchives(subject, db)]),
  ];
  return (await Promise.all(all)).flat();
}
