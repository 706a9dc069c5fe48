import type { Redis } from '@upstash/redis';
import * as z from 'zod';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { type ChatEvent, type RunningTurn, runningTurn } from './chat-events.ts';

/** A turn that continues without its client. */
export interface NewRunningTurn {
  username: string;
  sessionId: string;
  requestId: string;
}

/** How a turn reports its progress. Never throws: the turn continues even if the store does not answer. */
export interface FollowedTurn {
  /** Aborts when its user stops it. */
  stopped: AbortSignal;
  /** Keeps the confirmation that the turn waits for up to date. */
  note(event: ChatEvent): Promise<void>;
  end(): Promise<void>;
}

/**
 * Turns that continue without their clients, so that their users can find and stop them. Kept in Redis, so that any
 * instance can be asked; without Redis, in the process.
 */
export interface RunningTurns {
  /** Throws RATE_LIMITED for more than MAX_TURNS of a user. */
  begin(turn: NewRunningTurn): Promise<FollowedTurn>;
  /** Throws SERVICE_UNAVAILABLE if the store does not answer. */
  list(username: string, sessionId: string): Promise<RunningTurn[]>;
  /** Returns false if the user has no such turn. Throws SERVICE_UNAVAILABLE if the store does not answer. */
  stop(turn: NewRunningTurn): Promise<boolean>;
}

interface TurnsDeps {
  redis: Redis | null;
  clock: Clock;
  log: Log;
  /** The maximum duration of a turn. */
  deadlineMs: number;
}

interface Entry extends NewRunningTurn {
  shown: RunningTurn;
  stopping: AbortController;
}

/** Maximum number of a user's turns in one process: nobody has to stay connected for them. */
const MAX_TURNS = 20;
/** How often a turn checks whether another instance was asked to stop it. */
const LOOK_EVERY_MS = 1_000;
/** An approved mail is still sent after the deadline. */
const GRACE_MS = 60_000;

/** Creates the store of one process. */
export function createRunningTurns(deps: TurnsDeps): RunningTurns {
  const { redis, clock, deadlineMs } = deps;
  const entries = new Set<Entry>();
  const shared = redis === null ? null : shareTurns({ ...deps, redis });
  const ofSession = (username: string, sessionId: string) =>
    [...entries].filter((it) => it.username === username && it.sessionId === sessionId);

  return {
    async begin(turn) {
      const mine = [...entries].filter(({ username }) => username === turn.username);
      if (mine.length >= MAX_TURNS) {
        throw new AppError(
          'RATE_LIMITED',
          `${MAX_TURNS} of your turns are running: wait or stop one`,
        );
      }
      const ends_at = new Date(clock.now() + deadlineMs).toISOString();
      const shown: RunningTurn = { request_id: turn.requestId, ends_at, confirmation: null };
      const entry: Entry = { ...turn, shown, stopping: new AbortController() };
      entries.add(entry);
      const ended = new AbortController();
      await shared?.show(entry);
      void shared?.watch(entry, ended.signal);
      return {
        stopped: entry.stopping.signal,
        async note(event) {
          const confirmation = readConfirmation(event);
          if (confirmation === entry.shown.confirmation) return;
          entry.shown = { ...entry.shown, confirmation };
          await shared?.show(entry);
        },
        async end() {
          entries.delete(entry);
          ended.abort();
          await shared?.remove(entry);
        },
      };
    },
    async list(username, sessionId) {
      if (shared !== null) return shared.list(username, sessionId);
      return ofSession(username, sessionId).map(({ shown }) => shown);
    },
    async stop({ username, sessionId, requestId }) {
      const own = ofSession(username, sessionId).filter((it) => it.requestId === requestId);
      for (const { stopping } of own) stopping.abort();
      if (own.length > 0) return true;
      return (await shared?.stop({ username, sessionId, requestId })) ?? false;
    },
  };
}

/** The confirmation that a turn waits for after an event; null if it waits for none. */
function readConfirmation(event: ChatEvent): RunningTurn['confirmation'] {
  if (event.type !== 'confirm_required') return null;
  const { type: _, ...confirmation } = event;
  return confirmation;
}

/** The field that asks a turn to stop. A request id contains no colon. */
const stopField = (requestId: string) => `${requestId}:stop`;

/** The turns of all instances: a hash for each session of a user. */
function shareTurns({ redis, clock, log, deadlineMs }: TurnsDeps & { redis: Redis }) {
  const keyOf = ({ username, sessionId }: Omit<NewRunningTurn, 'requestId'>) =>
    `backup:turns:${username}:${sessionId}`;
  const orWarn = async (turn: NewRunningTurn, work: Promise<unknown>) => {
    await work.catch((error: unknown) => {
      log.warn('a running turn could not be recorded', { request_id: turn.requestId, error });
    });
  };
  const orUnavailable = (cause: unknown): never => {
    const message = 'the store of running turns does not answer: try again';
    throw new AppError('SERVICE_UNAVAILABLE', message, { cause });
  };

  return {
    async show(entry: Entry) {
      const key = keyOf(entry);
      const record = { [entry.requestId]: JSON.stringify(entry.shown) };
      const kept = redis
        .multi()
        .hset(key, record)
        .pexpire(key, deadlineMs + GRACE_MS);
      await orWarn(entry, kept.exec());
    },
    async remove(turn: NewRunningTurn) {
      const { requestId } = turn;
      await orWarn(turn, redis.hdel(keyOf(turn), requestId, stopField(requestId)));
    },
    /** Polls for a request to stop the turn until it ends. */
    async watch(entry: Entry, ended: AbortSignal) {
      const rest = () =>
        clock.sleep(LOOK_EVERY_MS, ended).then(
          () => true,
          () => false, // the turn has ended
        );
      while (await rest()) {
        await orWarn(
          entry,
          redis.hexists(keyOf(entry), stopField(entry.requestId)).then((isWished) => {
            if (isWished === 1) entry.stopping.abort();
          }),
        );
      }
    },
    async list(username: string, sessionId: string): Promise<RunningTurn[]> {
      const found = await redis
        .hgetall<Record<string, unknown>>(keyOf({ username, sessionId }))
        .catch(orUnavailable);
      const turns = Object.values(found ?? {}).flatMap(
        (it) => z.safeParse(runningTurn, it).data ?? [],
      );
      // An instance that was killed leaves its turns behind.
      return turns.filter(({ ends_at }) => clock.now() < Date.parse(ends_at) + GRACE_MS);
    },
    async stop(turn: NewRunningTurn): Promise<boolean> {
      const key = keyOf(turn);
      const isThere = await redis.hexists(key, turn.requestId).catch(orUnavailable);
      if (isThere !== 1) return false;
      await redis.hset(key, { [stopField(turn.requestId)]: 'yes' }).catch(orUnavailable);
      return true;
    },
  };
}
