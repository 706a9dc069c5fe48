import type { Redis } from '@upstash/redis';
import type { Clock } from '../../clock.ts';
import { type ConfirmationState, type ConfirmationStore, KEPT_MS } from './confirmation-store.ts';

/** Adds one with its end; ARGV: user, tool, hash, time of expiry, milliseconds to keep it. */
const addScript = `
redis.call('HSET', KEYS[1], 'user', ARGV[1], 'tool', ARGV[2], 'hash', ARGV[3], 'expires', ARGV[4],
  'state', 'pending')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 'added'`;

/** The state in the variable \`state\`, after one whose time is over was expired; ARGV[1]: the time now. */
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

/** Confirmations that every instance sees. Each step is one script. */
export function storeConfirmationsInRedis(
  redis: Redis,
  clock: Clock,
  timeoutMs: number,
): ConfirmationStore {
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
