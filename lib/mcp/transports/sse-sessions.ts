import { randomBytes } from 'node:crypto';
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { warnOccasionally } from '../../log/occasional-log.ts';
import type { CreateMcpServer } from '../base/server.ts';
import { type GuardOptions, guardTransport } from './guarded-transport.ts';
import type { PostOutcome, SessionRelay } from './session-relay.ts';
import { createSseTransport, type SseTransport } from './sse-transport.ts';

export interface SseSessionsOptions {
  createServer: CreateMcpServer;
  guard: GuardOptions;
  /** Null for sessions in this process only. */
  relay: SessionRelay | null;
  clock: Clock;
  log: Log;
  /** Aborts when the process is about to end; null if that is not announced. */
  stopping: AbortSignal | null;
}

/** The sessions of the older HTTP transport whose stream is in this process. */
export interface SseSessions {
  /**
   * Starts a session and returns the body of its stream. Canceling the stream ends the session. Throws
   * SERVICE_UNAVAILABLE if there are too many.
   */
  open(endpoint: string, caller: string): Promise<ReadableStream<Uint8Array>>;
  /** Delivers a message to a session here or, with a relay, anywhere. Throws SERVICE_UNAVAILABLE without Redis. */
  deliver(sessionId: string, message: JSONRPCMessage): Promise<PostOutcome>;
}

const refuseSession = async () => {
  const message = 'the SSE transport needs a Node.js server: use streamable HTTP, at /mcp';
  throw new AppError('SERVICE_UNAVAILABLE', message, { headers: { 'Retry-After': '3600' } });
};

/** For runtimes where a request cannot write to another's stream: throws SERVICE_UNAVAILABLE with the alternative. */
export const noSseSessions: SseSessions = { open: refuseSession, deliver: refuseSession };

/** Maximum number of open sessions in one process. */
export const MAX_SESSIONS = 200;
const KEEP_ALIVE_MS = 15_000;
/** How often waiting messages are polled: soon after the last one, then less and less often. */
const POLL_MS = { first: 100, growth: 1.3, max: 2_000 };
const RENEW_MS = 30_000;
const WARN_INTERVAL_MS = 60_000;

/** Creates the sessions of one process, relayed through Redis if it is configured. */
export function createSseSessions(options: SseSessionsOptions): SseSessions {
  const { createServer, guard, relay, clock, log, stopping } = options;
  const sessions = new Map<string, SseTransport>();
  const warn = warnOccasionally({ log, clock }, WARN_INTERVAL_MS);

  return {
    async open(endpoint, caller) {
      if (sessions.size >= MAX_SESSIONS) {
        throw new AppError('SERVICE_UNAVAILABLE', 'too many sessions are open');
      }
      const sessionId = randomBytes(32).toString('base64url');
      const transport = createSseTransport(endpoint, sessionId);
      const ended = new AbortController();
      const server = createServer(caller);
      sessions.set(sessionId, transport);
      server.onclose = () => {
        sessions.delete(sessionId);
        ended.abort();
      };
      stopping?.addEventListener('abort', () => void server.close(), { signal: ended.signal });
      if (relay) await startRelaying(relay, transport, ended.signal);
      await server.connect(guardTransport(transport, guard));
      void every(KEEP_ALIVE_MS, () => transport.keepAlive(), ended.signal);
      return transport.stream;
    },
    async deliver(sessionId, message) {
      const here = sessions.get(sessionId);
      if (here) {
        here.receive(message);
        return 'accepted';
      }
      if (!relay) return 'unknown';
      try {
        return await relay.post(sessionId, message);
      } catch (cause) {
        throw new AppError('SERVICE_UNAVAILABLE', 'the session cannot be reached at the moment', {
          cause,
        });
      }
    },
  };

  /** If the relay cannot be opened, logs it and serves the session from this process only. */
  async function startRelaying(
    relay: SessionRelay,
    transport: SseTransport,
    ended: AbortSignal,
  ): Promise<void> {
    const { sessionId } = transport;
    try {
      await relay.open(sessionId);
    } catch (error) {
      warn('Redis does not answer: an MCP session can be reached through only one instance', {
        error,
      });
      return;
    }
    const attempt = (work: Promise<unknown>) =>
      work.catch((error) => warn('Redis does not answer: MCP messages may be late', { error }));
    ended.addEventListener('abort', () => void attempt(relay.close(sessionId)), { once: true });
    void every(RENEW_MS, () => attempt(relay.renew(sessionId)), ended);
    let pause = POLL_MS.first;
    const poll = async () => {
      const messages = await relay.take(sessionId);
      pause = messages.length > 0 ? POLL_MS.first : Math.min(pause * POLL_MS.growth, POLL_MS.max);
      for (const message of messages) transport.receive(JSONRPCMessageSchema.parse(message));
    };
    void every(
      () => pause,
      () => attempt(poll()),
      ended,
    );
  }

  /** Repeats work until the signal aborts. */
  async function every(
    pauseMs: number | (() => number),
    work: () => unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const rest = () =>
      clock.sleep(typeof pauseMs === 'number' ? pauseMs : pauseMs(), signal).then(
        () => !signal.aborted,
        () => false, // the session has ended
      );
    while (await rest()) await work();
  }
}
