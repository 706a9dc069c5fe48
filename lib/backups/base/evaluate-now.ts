import { evaluateRules } from '../../alerts/incidents/evaluate.ts';
import type { RuleName } from '../../alerts/rules/rule.ts';
import type { BackupsDeps } from './backups-deps.ts';

/**
 * Evaluates rules at once, so that incidents reflect a decision that a person has just made. A failure is only logged:
 * the next sweep evaluates the rules again. Channels are notified by the sweep.
 */
export async function evaluateNow(
  { db, clock, log, config }: BackupsDeps,
  rules: readonly RuleName[],
): Promise<void> {
  try {
    await evaluateRules({ db, clock, log, config }, rules);
  } catch (error) {
    log.error('the incidents could not be updated: the next sweep will retry', { error });
  }
}
