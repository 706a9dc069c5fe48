import type { Database } from '../database/database.ts';
import {
  type Attainment,
  listObjectives,
  measureAttainment,
  type Objective,
} from '../records/objectives.ts';
import { patternFault } from '../text/name-pattern.ts';

/** With 20,000 repositories that are backed up daily, this takes seconds. */
const TIMEOUT_MS = 60_000;

/** An objective with how far it was attained. */
export type AttainedObjective = Objective & Omit<Attainment, 'id'>;

/** The objectives as of some time. */
export interface ObjectivesReport {
  objectives: AttainedObjective[];
  /** How many tracked repositories belong to none. */
  without: number;
}

/** What is wrong with a pattern of a group, starting with a verb; null if nothing is. */
export function groupPatternFault(text: string): string | null {
  return /[[\]{}]/.test(text) ? 'may only use * and ? as wildcards' : patternFault(text);
}

/** Measures how far the objectives were attained in the 90 days before `now` (ISO 8601). */
export async function readObjectives(db: Database, now: string): Promise<ObjectivesReport> {
  const objectives = await listObjectives(db);
  const rules = objectives.map(({ id, patterns, rpo_hours, rto_minutes }) => ({
    ...{ id, rpo_hours, rto_minutes },
    regex: patterns.map(toRegex).join('|'),
  }));
  const measured = await measureAttainment(db, now, rules, TIMEOUT_MS);
  const byId = new Map(measured.objectives.map((one) => [one.id, one]));
  return {
    objectives: objectives.flatMap((objective) => {
      const found = byId.get(objective.id);
      return found === undefined ? [] : [{ ...objective, ...found }];
    }),
    without: measured.without,
  };
}

/** The meaning of a pattern (`matchesPattern`) as a regular expression of Postgres. */
function toRegex(pattern: string): string {
  const body = pattern
    .split(/(\*\*|\*|\?)/)
    .map(
      (part) =>
        wildcards[part] ?? part.replace(/[^\w/]/g, (one) => (one > '\x7f' ? one : `\\${one}`)),
    )
    .join('');
  return `^${pattern.includes('/') ? '' : '(?:.*/)?'}${body}$`;
}

const wildcards: Readonly<Record<string, string>> = { '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** A share of a whole as a fraction with four decimals, never rounded up; null of nothing. */
export function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.floor((part / whole) * 10_000) / 10_000;
}
