import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { ChatConfig } from '../../config/chat.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import type { ToolArguments } from '../base/chat-events.ts';
import type { ConfirmationState, ConfirmationStore } from '../base/confirmation-store.ts';

export interface AskingDeps {
  confirmations: ConfirmationStore;
  clock: Clock;
  config: ChatConfig;
  log: Log;
}

/** A tool call that a person has to approve. */
export interface AskedCall {
  username: string;
  tool: string;
  /** The arguments that are shown and that the tool runs with. */
  args: ToolArguments;
  /** Aborts when the turn ends, which expires the confirmation. */
  signal: AbortSignal;
  /** Shows the question. Called once it is stored. */
  show(confirmId: string, expiresAt: number): Promise<void>;
}

/** The decision of a person, or `unavailable` if nobody could be asked. */
export type Decision = Exclude<ConfirmationState, 'pending'> | 'unavailable';

/**
 * Stores a question, shows it and waits for the decision. Polls the store every HITL_POLL_INTERVAL_SECONDS,
 * because any instance may receive the decision. Uses up an approval. Never throws: when the turn ends without
 * a decision, the result is `expired`.
 */
export async function askPerson(deps: AskingDeps, call: AskedCall): Promise<Decision> {
  const { confirmations, clock, config, log } = deps;
  const { username, tool, args, signal, show } = call;
  const id = randomUUID();
  const claim = { id, tool, argsHash: hashArguments(args), claimant: randomUUID() };
  const expiresAt = clock.now() + config.HITL_CONFIRMATION_TIMEOUT_SECONDS * 1000;
  try {
    await confirmations.add({ ...claim, username, expiresAt });
  } catch (error) {
    log.error('a confirmation could not be stored', { error });
    return 'unavailable';
  }
  await show(id, expiresAt);

  const intervalMs = config.HITL_POLL_INTERVAL_SECONDS * 1000;
  while (clock.now() < expiresAt) {
    const pause = Math.min(intervalMs, expiresAt - clock.now());
    const isOver = await clock.sleep(pause, signal).then(
      () => false,
      () => true, // the turn has ended
    );
    if (isOver) break;
    try {
      const state = await confirmations.claim(claim);
      if (state !== 'pending') return state;
    } catch (error) {
      // Polled again; nothing runs without a decision.
      log.warn('a confirmation could not be read', { confirm_id: id, error });
    }
  }
  try {
    await confirmations.expire(id);
    const state = await confirmations.claim(claim);
    // Decided since the last poll, and confirmed to the person who decided.
    if (state !== 'pending') return state;
  } catch (error) {
    // It will expire by itself.
    log.error('a confirmation could not be expired', { confirm_id: id, error });
  }
  return 'expired';
}

/**
 * Decides a confirmation for its user. Throws NOT_FOUND, CONFLICT if it was already decided or has expired,
 * and SERVICE_UNAVAILABLE when the store does not answer.
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
    const message = 'the decision could not be stored: try again';
    throw new AppError('SERVICE_UNAVAILABLE', message, { cause });
  }
  if (decided === null) throw new AppError('NOT_FOUND', 'confirmation not found');
  if (!decided) {
    throw new AppError('CONFLICT', 'the confirmation was already decided or has expired');
  }
  return decision;
}

/** SHA-256 of the arguments, independent of the order of their keys. */
function hashArguments(args: ToolArguments): string {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(args)))
    .digest('hex');
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sortKeys(member)]));
}
