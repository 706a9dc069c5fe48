import { z } from 'zod';
import { readNotGood } from '../../lib/alerts/rules/not-good.ts';
import type { Finding, Rule } from '../../lib/alerts/rules/rule.ts';
import { loadOnce } from '../../lib/async.ts';
import type { Clock } from '../../lib/clock.ts';
import { alertRuleVariables } from '../../lib/config/alert-rules.ts';
import { freshnessVariables } from '../../lib/config/freshness.ts';
import type { Database } from '../../lib/database/database.ts';
import { READ_WITHIN_MS, unreadable, withinLimit } from './measuring.ts';
import type { CheckFinding as Result } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

/** The variables that the alert rules need. */
const ruleVariables = z.object({
  ...alertRuleVariables.shape,
  ...freshnessVariables.shape,
});

interface RuleDeps {
  db: Database;
  clock: Clock;
  config: z.output<typeof ruleVariables>;
}

/** Runs a check with the variables of the alert rules, within the time limit for reading the database. */
export function checkWithRules(
  subject: Subject,
  db: Database,
  check: (deps: RuleDeps) => Promise<Result>,
): Promise<Result> {
  const { clock } = subject;
  return withConfig(ruleVariables, subject, (config) =>
    withinLimit(READ_WITHIN_MS, clock, () => check({ db, clock, config }), unreadable),
  );
}

/**
 * What a rule finds now, without its repositories. If nothing evaluates the rules any more, there may be no incident
 * for it yet. Records nothing.
 */
export function findByRule(
  rule: Rule,
  { db, clock, config }: RuleDeps,
): Promise<readonly Finding[]> {
  const now = clock.now();
  return rule.find({ db, now, config, notGood: loadOnce(() => readNotGood(db, now, config)) });
}
