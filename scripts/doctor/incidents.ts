import { readUrgentIncidents, type UrgentIncidents } from '../../lib/alerts/incidents/list.ts';
import type { Database } from '../../lib/database/database.ts';
import { cleanText } from '../../lib/text/clean-text.ts';
import { formatMinute } from '../../lib/text/format-minute.ts';
import { READ_WITHIN_MS, unreadable, withinLimit } from './measuring.ts';
import { type Check, type CheckFinding, failed, ok, toCheck, warning } from './report.ts';
import type { Subject } from './subject.ts';

/** How many incidents get a check of their own. */
const MAX_INCIDENTS = 5;

/** Checks whether incidents are open, followed by a check for each of the first ones, with what to do. */
export async function checkIncidents({ clock }: Subject, db: Database): Promise<Check[]> {
  const first: Check[] = [];
  const found = await withinLimit(
    READ_WITHIN_MS,
    clock,
    async () => {
      const incidents = await readUrgentIncidents(db, MAX_INCIDENTS);
      first.push(...incidents.first.map(describe));
      return sumUp(incidents);
    },
    unreadable,
  );
  return [toCheck('incidents', found), ...first];
}

/** Whether a check is about a single incident, which the check `incidents` already counts. */
export function isIncident({ name }: Check): boolean {
  return /^incident_\d+$/.test(name);
}

function sumUp({ open, critical }: UrgentIncidents): CheckFinding {
  if (open === 0) return ok('none open');
  const next = 'the incidents page lists all of them, with the affected repositories';
  if (critical === 0) return warning(`${open} open, none critical`, next);
  return failed(`${open} open, ${critical} critical`, next, { effect: 'none' });
}

function describe({
  id,
  title,
  severity,
  summary,
  advice,
  opened_at,
  acknowledged,
}: UrgentIncidents['first'][number]): Check {
  const known = acknowledged ? ' (acknowledged)' : '';
  const detail = `${cleanText(title, 100)}, since ${formatMinute(opened_at)}${known}: ${cleanText(summary, 300)}`;
  const next = advice ?? 'see the incidents page: this release does not know the rule';
  return toCheck(
    `incident_${id}`,
    severity === 'critical' ? failed(detail, next, { effect: 'none' }) : warning(detail, next),
  );
}
