import { type Delivered, type DeliveryDeps, deliverMessages } from './deliveries/deliver.ts';
import type { Evaluated } from './incidents/apply-findings.ts';
import { type EvaluationDeps, evaluateRules } from './incidents/evaluate.ts';

/** What `raiseAlerts` needs. */
export interface AlertDeps extends EvaluationDeps, DeliveryDeps {
  config: EvaluationDeps['config'] & DeliveryDeps['config'];
}

/**
 * Evaluates the rules, and notifies the channels of what is new. Safe to run in several processes at once. Throws
 * SERVICE_UNAVAILABLE if the database is unreachable.
 */
export async function raiseAlerts(deps: AlertDeps): Promise<Evaluated & Delivered> {
  const evaluated = await evaluateRules(deps);
  return { ...evaluated, ...(await deliverMessages(deps)) };
}
