import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from '../../clock.ts';
import type { ChatConfig } from '../../config/chat.ts';

/** A question that a person has to decide. */
export interface NewConfirmation {
  /** A UUID that nobody can guess. */
  id: string;
  /** The only user who may decide. */
  username: string;
  tool: string;
  /** The hash of the arguments that were shown. */
  argsHash: string;
  /** Milliseconds since the epoch. No decision is accepted after it. */
  expiresAt: number;
}

/** How a waiting stream asks for the decision. */
export interface ConfirmationClaim extends Pick<NewConfirmation, 'id' | 'tool' | 'argsHash'> {
  /** Identifies the stream. */
  claimant: string;
}

export type ConfirmationState = 'pending' | 'approved' | 'rejected' | 'expired';

/**
 * Stores confirmations. Each method is one atomic step. A pending confirmation counts as expired after its time, for
 * every caller. Methods reject when the store does not answer.
 */
export interface ConfirmationStore {
  add(confirmation: NewConfirmation): Promise<void>;
  /** Null if the user has no confirmation with this id; otherwise whether this call decided it. */
  decide(id: string, username: string, decision: 'approved' | 'rejected'): Promise<boolean | null>;
  /**
   * Returns the state to the stream that waits for it. The first claim with exactly this tool and these
   * arguments uses up the approval, and may be repeated if its answer was lost. For every other claim the
   * confirmation is `expired`, so that nothing runs twice or with arguments that were not shown.
   */
  claim(claim: ConfirmationClaim): Promise<ConfirmationState>;
  /** Expires a confirmation that is still pending. */
  expire(id: string): Promise<void>;
}

/** How long a decided or expired confirmation is kept, so that a late decision gets 409 instead of 404. */
const KEPT_MS = 24 * 3_600_000;
/** The process keeps at least this many of the newest confirmations, and at most twice as many. */
const MAX_KEPT = 10_000;

/** Stores confirmations in Redis, so that any instance can receive the decision, or without it in the process. */
export function createConfirmationStore(
  redis: Redis | null,
  clock: Clock,
  { HITL_CONFIRMATION_TIMEOUT_SECONDS }: ChatConfig,
): ConfirmationStore {
  if (redis === null) return storeInProcess(clock);
  return storeInRedis(redis, clock, HITL_CONFIRMATION_TIMEOUT_SECONDS * 1000);
}

interface Kept extends NewConfirmation {
  state: ConfirmationState;
  /** The claimant that used the approval. */
  spentBy: string | null;
}

/** Confirmations of one process, lost when it ends. */
function storeInProcess(clock: Clock): ConfirmationStore {
  const kept = new QuickLRU<string, Kept>({ maxSize: MAX_KEPT });

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

/** ARGV: user, tool, hash, expiry time, milliseconds to keep the confirmation. */
const addScript = `
redis.call('HSET', KEYS[1], 'user', ARGV[1], 'tool', ARGV[2], 'hash', ARGV[3], 'expires', ARGV[4],
  'state', 'pending')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 'added'`;

/** Sets the variable `state`, and expires a pending confirmation after its time. ARGV[1]: the current time. */
const readState = `
local state = redis.call('HGET', KEYS[1], 'state')
if state == 'pending' and tonumber(ARGV[1]) >= tonumber(redis.call('HGET', KEYS[1], 'expires')) then
  state = 'expired'
  redis.call('HSET', KEYS[1], 'state', state)
end`;

/** ARGV[2]: the user, ARGV[3]: the decision. */
const decideScript = `${readState}
if not state or redis.call('HGET', KEYS[1], 'user') ~= ARGV[2] then return 'unknown' end
if state ~= 'pending' then return 'late' end
redis.call('HSET', KEYS[1], 'state', ARGV[3])
return 'decided'`;

/** ARGV[2]: the tool, ARGV[3]: the hash of its arguments, ARGV[4]: the claimant. */
const claimScript = `${readState}
if not state then return 'expired' end
if state ~= 'approved' then return state end
local isShown = redis.call('HGET', KEYS[1], 'tool') == ARGV[2]
  and redis.call('HGET', KEYS[1], 'hash') == ARGV[3]
if not isShown then return 'expired' end
redis.call('HSETNX', KEYS[1], 'spent', ARGV[4])
return redis.call('HGET', KEYS[1], 'spent') == ARGV[4] and 'approved' or 'expired'`;

const expireScript = `${readState}
if state == 'pending' then redis.call('HSET', KEYS[1], 'state', 'expired') end
return 'done'`;

/** Confirmations shared by all instances. Each operation is one script. */
function storeInRedis(redis: Redis, clock: Clock, timeoutMs: number): ConfirmationStore {
  const run = <Answer>(script: string, id: string, args: string[]) =>
    redis.eval<string[], Answer>(script, [`backup:confirmation:${id}`], args);
  const now = () => String(clock.now());
  return {
    async add({ id, username, tool, argsHash, expiresAt }) {
      const keepMs = String(Math.ceil(timeoutMs + KEPT_MS));
      await run(addScript, id, [username, tool, argsHash, String(expiresAt), keepMs]);
    },
    async decide(id, username, decision) {
      const answer = await run(decideScript, id, [now(), username, decision]);
      return answer === 'unknown' ? null : answer === 'decided';
    },
    claim: ({ id, tool, argsHash, claimant }) =>
      run<ConfirmationState>(claimScript, id, [now(), tool, argsHash, claimant]),
    async expire(id) {
      await run(expireScript, id, [now()]);
    },
  };
}
