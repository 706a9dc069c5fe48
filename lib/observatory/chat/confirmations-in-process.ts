import QuickLRU from 'quick-lru';
import type { Clock } from '../../clock.ts';
import {
  type ConfirmationState,
  type ConfirmationStore,
  KEPT_MS,
  type NewConfirmation,
} from './confirmation-store.ts';

/** The process keeps the newest confirmations: at least so many, at most twice as many. */
const MOST_KEPT = 10_000;

interface Kept extends NewConfirmation {
  state: ConfirmationState;
  /** The claimant who has spent it. */
  spentBy: string | null;
}

/** Confirmations of one process, gone with it. */
export function storeConfirmationsInProcess(clock: Clock): ConfirmationStore {
  const kept = new QuickLRU<string, Kept>({ maxSize: MOST_KEPT });

  function find(id: string): Kept | undefined {
    const found = kept.get(id);
    if (!found) return undefined;
    const now = clock.now();
    if (found.state === 'pending' && now >= found.expiresAt) found.state = 'expired';
    if (now < found.expiresAt + KEPT_MS) return found;
    kept.delete(id);
    return undefined;
  }

  return {
    async add(confirmation) {
      kept.set(confirmation.id, { ...confirmation, state: 'pending', spentBy: null });
    },
    async decide(id, username, decision) {
      const found = find(id);
      if (found?.username !== username) return null;
      if (found.state !== 'pending') return false;
      found.state = decision;
      return true;
    },
    async claim({ id, tool, argsHash, claimant }) {
      const found = find(id);
      if (!found) return 'expired';
      if (found.state !== 'approved') return found.state;
      if (found.tool !== tool || found.argsHash !== argsHash) return 'expired';
      found.spentBy ??= claimant;
      return found.spentBy === claimant ? 'approved' : 'expired';
    },
    async expire(id) {
      const found = find(id);
      if (found?.state === 'pending') found.state = 'expired';
    },
  };
}
