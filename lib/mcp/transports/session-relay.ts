import { createHmac } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Redis } from '@upstash/redis';

/** Maximum number of messages that wait for the instance with the stream. */
export const MAX_WAITING = 64;
/** A session that is not renewed for this long is dropped. */
export const SESSION_TTL_SECONDS = 120;

/** The outcome of a message for a session. */
export type PostOutcome = 'accepted' | 'unknown' | 'full';

/** Passes messages to the instance with the stream of a session. Methods reject while Redis is down. */
export interface SessionRelay {
  open(sessionId: string): Promise<void>;
  /** Queues a message, up to 64 for each session. */
  post(sessionId: string, message: JSONRPCMessage): Promise<PostOutcome>;
  /** Takes the waiting messages, oldest first. */
  take(sessionId: string): Promise<unknown[]>;
  /** Keeps the session for another 2 minutes. Reopens it if Redis has lost it. */
  renew(sessionId: string): Promise<void>;
  close(sessionId: string): Promise<void>;
}

/** The first element of every open session's list, because Redis deletes empty lists. */
const OPEN = 'open';

/**
 * Creates a relay over Redis. The key of a session is an HMAC of its id and the token, so neither can be read from
 * Redis, and another token finds no session.
 */
export function createSessionRelay(redis: Redis, token: string): SessionRelay {
  const keyOf = (sessionId: string) =>
    `mcp:session:${createHmac('sha256', token).update(sessionId).digest('base64url')}`;
  async function open(sessionId: string): Promise<void> {
    const key = keyOf(sessionId);
    await redis.multi().rpush(key, OPEN).expire(key, SESSION_TTL_SECONDS).exec();
  }
  return {
    open,
    async post(sessionId, message) {
      const key = keyOf(sessionId);
      const [length] = await redis
        .multi()
        // Only appends to an existing list, which is an open session.
        .rpushx(key, JSON.stringify(message))
        .ltrim(key, 0, MAX_WAITING)
        .exec<[number, string]>();
      if (length === 0) return 'unknown';
      return length > MAX_WAITING + 1 ? 'full' : 'accepted';
    },
    async take(sessionId) {
      const key = keyOf(sessionId);
      const [waiting] = await redis
        .multi()
        .lrange(key, 1, -1)
        .ltrim(key, 0, 0)
        .exec<[unknown[], string]>();
      return waiting;
    },
    async renew(sessionId) {
      const isOpen = await redis.expire(keyOf(sessionId), SESSION_TTL_SECONDS);
      if (!isOpen) await open(sessionId);
    },
    async close(sessionId) {
      await redis.del(keyOf(sessionId));
    },
  };
}
