import { createHmac } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Redis } from '@upstash/redis';

/** Messages that may wait for the instance that has the stream. */
export const MAX_WAITING = 64;
/** A session whose instance gave no sign for this long is forgotten. */
export const SESSION_TTL_SECONDS = 120;

/** What became of a message for a session. */
export type Delivery = 'accepted' | 'unknown' | 'full';

/** Carries messages to the instance that holds the stream of a session. Rejects while Redis is down. */
export interface SessionRelay {
  open(sessionId: string): Promise<void>;
  /** Queues a message, at most 64 for a session. */
  post(sessionId: string, message: JSONRPCMessage): Promise<Delivery>;
  /** Takes the waiting messages, oldest first. */
  take(sessionId: string): Promise<unknown[]>;
  /** Keeps the session for another 2 minutes; one that Redis has lost or forgotten opens again. */
  renew(sessionId: string): Promise<void>;
  close(sessionId: string): Promise<void>;
}

/** Stands first in the list of an open session, so that the list is there while nothing waits. */
const OPEN = 'open';

/**
 * A relay over Redis. A session is a list under a name made of its id and the token, so neither can be
 * read from Redis and another token finds no session.
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
        // Only to a list that is there, which is to an open session.
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
