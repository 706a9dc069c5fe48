import { evaluateRules } from '../alerts/incidents/evaluate.ts';
import type { RuleName } from '../alerts/rules/rule.ts';
import type { BackupsDeps } from './backups-deps.ts';

/**
 * Evaluates rules at once, so that the incidents agree with what a person has just decided. If that fails it is logged:
 * the sweep does it too, and tells the channels.
 */
export async function evaluateNow(
  { db, clock, log, config }: BackupsDeps,
  rules: readonly RuleName[],
): Promise<void> {
  try {
    await evaluateRules({ db, clock, log, config }, rules);
  } catch (error) {
    log.error('the incidents are left to the next sweep', { error });
  }
}
