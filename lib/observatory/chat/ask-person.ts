import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { ChatConfig } from '../../config/chat.ts';
import type { Log } from '../../log.ts';
import type { ConfirmationState, ConfirmationStore } from './confirmation-store.ts';
import type { ToolArguments } from './events.ts';

export interface AskingDeps {
  confirmations: ConfirmationStore;
  clock: Clock;
  config: ChatConfig;
  log: Log;
}

/** A call of a tool that a person has to allow. */
export interface AskedCall {
  username: string;
  tool: string;
  /** As they are shown, and as the tool runs with them. */
  args: ToolArguments;
  /** Aborts when the turn ends; the confirmation then expires. */
  signal: AbortSignal;
  /** Shows the question; called when it is stored. */
  show(confirmId: string): Promise<void>;
}

/** What a person said, or that nobody could be asked. */
export type Decision = Exclude<ConfirmationState, 'pending'> | 'unavailable';

/**
 * Stores a question, shows it and waits for its decision: the store is looked at every
 * HITL_POLL_INTERVAL_SECONDS, since any instance may be told. An approval is spent by this. Never throws:
 * a turn that ends has an expired confirmation, when nobody decided it before.
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
    log.error('a confirmation was not stored', { error });
    return 'unavailable';
  }
  await show(id);

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
      // Another look comes; nothing runs without an answer.
      log.warn('a confirmation could not be read', { confirm_id: id, error });
    }
  }
  try {
    await confirmations.expire(id);
    const state = await confirmations.claim(claim);
    // Decided since the last look: whoever decided was told so.
    if (state !== 'pending') return state;
  } catch (error) {
    // It ends by its own time.
    log.error('a confirmation was not expired', { confirm_id: id, error });
  }
  return 'expired';
}

/** SHA-256 of the arguments, whatever the order of their keys. */
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
