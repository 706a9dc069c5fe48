import type { AlertChannel } from './channels/channel.ts';
import { type Delivered, type DeliveryDeps, deliverMessages } from './deliveries/deliver.ts';
import type { Evaluated } from './incidents/apply-findings.ts';
import { type EvaluationDeps, evaluateRules } from './incidents/evaluate.ts';

/** What alerts are raised with. */
export interface AlertDeps extends EvaluationDeps, DeliveryDeps {
  channels: readonly AlertChannel[];
  config: EvaluationDeps['config'] & DeliveryDeps['config'];
}

/**
 * Evaluates the rules, and tells the channels what is new. Safe when several processes do it at once. Throws
 * SERVICE_UNAVAILABLE if the database is away.
 */
export async function raiseAlerts(deps: AlertDeps): Promise<Evaluated & Delivered> {
  const evaluated = await evaluateRules(deps);
  return { ...evaluated, ...(await deliverMessages(deps)) };
}
