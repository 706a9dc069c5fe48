import type { Redis } from '@upstash/redis';
import type { Clock } from '../../clock.ts';
import type { ChatConfig } from '../../config/chat.ts';
import { AppError } from '../../errors.ts';
import type { ConfirmationStore } from './confirmation-store.ts';
import { storeConfirmationsInProcess } from './confirmations-in-process.ts';
import { storeConfirmationsInRedis } from './confirmations-in-redis.ts';

/** In Redis, so that any instance can be told the decision; in the process without it. */
export function createConfirmationStore(
  redis: Redis | null,
  clock: Clock,
  { HITL_CONFIRMATION_TIMEOUT_SECONDS }: ChatConfig,
): ConfirmationStore {
  if (redis === null) return storeConfirmationsInProcess(clock);
  return storeConfirmationsInRedis(redis, clock, HITL_CONFIRMATION_TIMEOUT_SECONDS * 1000);
}

/**
 * Decides a confirmation for its user. Throws NOT_FOUND, CONFLICT when it was decided or has expired, and
 * SERVICE_UNAVAILABLE without the store.
 */
export async function decideConfirmation(
  store: ConfirmationStore,
  { id, username, approve }: { id: string; username: string; approve: boolean },
): Promise<'approved' | 'rejected'> {
  const decision = approve ? 'approved' : 'rejected';
  let decided: boolean | null;
  try {
    decided = await store.decide(id, username, decision);
  } catch (cause) {
    const message = 'confirmations cannot be decided now: their store does not answer';
    throw new AppError('SERVICE_UNAVAILABLE', message, { cause });
  }
  if (decided === null) throw new AppError('NOT_FOUND', 'confirmation not found');
  if (!decided) {
    throw new AppError('CONFLICT', 'the confirmation was decided already or has expired');
  }
  return decision;
}
