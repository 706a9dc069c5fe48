import { loadOnce } from '../../async.ts';
import type { Clock } from '../../clock.ts';
import type { FreshnessConfig } from '../../config/freshness.ts';
import { type Database, isDatabaseUnavailable } from '../../database/database.ts';
import type { Log } from '../../log/log.ts';
import { readNotGood } from '../rules/not-good.ts';
import { type AlertRulesConfig, type RuleName, ruleNames } from '../rules/rule.ts';
import { rules } from '../rules/rules.ts';
import {
  applyFindings,
  type Evaluated,
  type FoundIncident,
  readEvaluation,
} from './apply-findings.ts';

/** How often to start over because another evaluation was faster. Being slower more often is no coincidence. */
const MAX_TRIES = 5;

/** What is needed to evaluate incidents. */
export interface EvaluationDeps {
  db: Database;
  clock: Clock;
  log: Log;
  config: AlertRulesConfig & FreshnessConfig;
}

/**
 * Evaluates all rules, or only some, and records what they found. Safe to run in several processes at once. The
 * incidents of a rule that is not or cannot be evaluated stay as they are. Throws SERVICE_UNAVAILABLE.
 */
export async function evaluateRules(
  deps: EvaluationDeps,
  names: readonly RuleName[] = ruleNames,
): Promise<Evaluated> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const evaluated = await evaluateOnce(deps, names);
    if (evaluated !== null) return evaluated;
  }
  // The faster evaluations saw nearly the same.
  deps.log.warn('alert rules were not evaluated: other processes were faster each time');
  return { opened: 0, resolved: 0 };
}

async function evaluateOnce(
  { db, clock, log, config }: EvaluationDeps,
  names: readonly RuleName[],
): Promise<Evaluated | null> {
  const evaluation = await readEvaluation(db);
  const now = clock.now();
  const notGood = loadOnce(() => readNotGood(db, now, config));
  const evaluated: RuleName[] = [];
  const found: FoundIncident[] = [];
  for (const name of names) {
    try {
      const findings = await rules[name].find({ db, now, config, notGood });
      found.push(...findings.map((finding) => ({ ...finding, rule: name })));
      evaluated.push(name);
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      log.error('an alert rule could not be evaluated', { rule: name, error });
    }
  }
  return applyFindings(db, { now, evaluation, evaluated, found });
}
