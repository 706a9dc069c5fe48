import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../log/log.ts';
import {
  claimSchedule,
  type DueFacts,
  noteNextRun,
  readDueFacts,
  releaseSchedule,
} from '../records/schedules/due.ts';
import { declareSchedule } from '../records/schedules/schedules.ts';
import type { Timing } from '../timing/timing.ts';
import { nextDue } from './plan.ts';
import type { WorkerEnd, WorkerProcess } from './worker-process.ts';

/** How often it looks for what is due. */
const LOOK_MS = 5_000;
/** A database that scales to zero is only looked at when something is due, and this often while it is in use. */
const MAX_IDLE_MS = 60 * 60_000;
const IN_USE_MS = 10 * 60_000;
/** The pause after a first failure. It doubles with each further one. */
const CRASH_PAUSE_MS = 5_000;
const FAILURE_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 30 * 60_000;
/** How often a request is tried whose worker crashes. */
const MAX_CRASHES = 5;

/** Exit codes of a worker that ended by itself; see docs/worker.md. */
const ORDERLY_CODES = [0, 1, 2, 4, 75];
const BUSY_CODE = 75;

export interface SchedulerDeps {
  /** Not recorded as use, which would keep an idle database awake. */
  db: Database;
  /** When the database was last used, in milliseconds since the epoch. */
  lastUse(): Promise<number | null>;
  clock: Clock;
  log: Log;
  /** The id of this machine. */
  machine: string;
  /** BACKUP_EVERY; null if it is unset. It replaces the schedules of the page. */
  declared: { timing: Timing; timeZone: string } | null;
  /** Starts a worker with these arguments. */
  startWorker(args: readonly string[]): WorkerProcess;
  /** Ends the run of a worker that is dead, and tells of it. */
  onCrash(): Promise<void>;
}

/** Starts the runs that are due, and those that people ask for. */
export interface Scheduler {
  /** Looks at once, for example because somebody has asked for a run. */
  wake(): void;
  /** Stops the worker and resolves when it has ended. */
  close(): Promise<void>;
}

/** Work of a worker: a schedule at a time that is due, or the requests. */
interface Task {
  /** Names it among the failures. */
  key: string;
  args: readonly string[];
  schedule: { id: number; dueAt: number } | null;
}

interface Failures {
  count: number;
  /** In milliseconds since the epoch. */
  until: number;
}

/**
 * Starts a worker whenever a schedule is due, one at a time. A worker that crashes is started again after a pause, and so
 * is one that could not begin a run.
 */
export function startScheduler(deps: SchedulerDeps): Scheduler {
  const { db, clock, log, machine, declared } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const failures = new Map<string, Failures>();
  const tried = new Set<number>();
  let waking = new AbortController();
  let worker: WorkerProcess | null = null;
  let isDeclared = false;
  let isFailing = false;

  const isPaused = (key: string) => (failures.get(key)?.until ?? 0) > clock.now();
  const fail = (key: string, firstMs: number): number => {
    const count = (failures.get(key)?.count ?? 0) + 1;
    const pauseMs = Math.min(firstMs * 2 ** Math.min(count - 1, 20), MAX_PAUSE_MS);
    failures.set(key, { count, until: clock.now() + pauseMs });
    return pauseMs;
  };

  const wait = (key: string) => {
    const { count = 0 } = failures.get(key) ?? {};
    failures.set(key, { count, until: clock.now() + FAILURE_PAUSE_MS });
  };

  /** The schedules that this server serves, each with the time of its next run. */
  const planned = (facts: DueFacts) =>
    facts.schedules
      .filter(({ variableOf }) => variableOf === (declared === null ? null : machine))
      .map((schedule) => ({ ...schedule, dueAt: nextDue(schedule, facts, clock.now()) }))
      .toSorted((one, other) => one.dueAt - other.dueAt);

  const look = async (): Promise<{ facts: DueFacts; plan: ReturnType<typeof planned> }> => {
    if (!isDeclared) {
      await declareSchedule(
        db,
        machine,
        declared && {
          ...declared.timing,
          timing: declared.timing.text,
          timeZone: declared.timeZone,
        },
      );
      isDeclared = true;
    }
    const facts = await readDueFacts(db);
    const plan = planned(facts);
    for (const { id, dueAt, nextAt } of plan) {
      if (nextAt !== dueAt) await noteNextRun(db, id, dueAt);
    }
    return { facts, plan };
  };

  /** The next work, or null. A request that has been tried waits for the next run. */
  const choose = ({ facts, plan }: Awaited<ReturnType<typeof look>>): Task | null => {
    const due = plan.find(({ id, dueAt }) => dueAt <= clock.now() && !isPaused(keyOf(id)));
    if (due !== undefined) {
      const { id, dueAt } = due;
      return { key: keyOf(id), args: ['run', '--schedule', String(id)], schedule: { id, dueAt } };
    }
    if (isPaused(REQUESTS) || facts.requests.every((id) => tried.has(id))) return null;
    return { key: REQUESTS, args: ['run', '--requested'], schedule: null };
  };

  const perform = async ({ key, args, schedule }: Task, requests: readonly number[]) => {
    if (schedule !== null && !(await claimSchedule(db, schedule.id, schedule.dueAt, machine))) {
      // Another server starts it.
      wait(key);
      return;
    }
    log.info('starting the worker', { args: args.join(' ') });
    worker = deps.startWorker(args);
    const end = await worker.ended;
    worker = null;
    if (signal.aborted) return;
    if (isCrash(end)) {
      const pauseMs = fail(key, CRASH_PAUSE_MS);
      const { count = 1 } = failures.get(key) ?? {};
      log.error('the worker crashed and is started again', {
        ...{ code: end.code, signal: end.signal, reason: end.lastLine, crashes: count },
        again_in_ms: pauseMs,
      });
      await deps.onCrash();
      if (key === REQUESTS && count >= MAX_CRASHES) for (const id of requests) tried.add(id);
      return;
    }
    if (key === REQUESTS) for (const id of requests) tried.add(id);
    if (end.code === BUSY_CODE) {
      wait(key);
      if (key === REQUESTS) for (const id of requests) tried.delete(id);
      return;
    }
    const { plan } = await look();
    const isStillDue =
      schedule !== null &&
      plan.some(({ id, dueAt }) => id === schedule.id && dueAt === schedule.dueAt);
    if (!isStillDue) {
      failures.delete(key);
      return;
    }
    await releaseSchedule(db, schedule.id, schedule.dueAt, machine);
    log.error('the worker began no run', {
      ...{ code: end.code, reason: end.lastLine, again_in_ms: fail(key, FAILURE_PAUSE_MS) },
    });
  };

  /** Does what is due. Returns how long to wait until the next look, in milliseconds. */
  const round = async (): Promise<number> => {
    const found = await look();
    const pending = new Set(found.facts.requests);
    for (const id of tried) if (!pending.has(id)) tried.delete(id);
    const task = choose(found);
    // Of our own crashed worker, whose run is not ended yet, another one is started.
    if (task !== null && !found.facts.isActive) {
      await perform(task, found.facts.requests);
      return 0;
    }
    if (db.driver !== 'neon') return LOOK_MS;
    const lastUse = (await deps.lastUse()) ?? 0;
    if (clock.now() - lastUse < IN_USE_MS) return LOOK_MS;
    const next = found.plan[0]?.dueAt ?? Number.POSITIVE_INFINITY;
    return Math.min(Math.max(next - clock.now(), LOOK_MS), MAX_IDLE_MS);
  };

  const looking = (async () => {
    while (!signal.aborted) {
      let waitMs = LOOK_MS;
      try {
        waitMs = await round();
        isFailing = false;
      } catch (error) {
        // Told once for each outage.
        if (!isFailing) log.error('what is due could not be read', { error: messageOf(error) });
        isFailing = true;
      }
      if (waitMs > 0) await rest(waitMs);
    }
  })();

  async function rest(ms: number): Promise<void> {
    const until = AbortSignal.any([signal, waking.signal]);
    try {
      await clock.sleep(ms, until);
    } catch (error) {
      if (!until.aborted) throw error;
    }
    if (waking.signal.aborted) waking = new AbortController();
  }

  return {
    wake: () => waking.abort(),
    async close() {
      stopping.abort();
      worker?.stop();
      await looking;
    },
  };
}

const REQUESTS = 'requests';

function keyOf(schedule: number): string {
  return `schedule ${schedule}`;
}

function isCrash({ code, signal }: WorkerEnd): boolean {
  return signal !== null || code === null || !ORDERLY_CODES.includes(code);
}
