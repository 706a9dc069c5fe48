import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { spawn } from 'node:child_process';

/** How often waiting calls are looked at, at most and at least. */
const MIN_LOOK_MS = 50;
const MAX_LOOK_MS = 1_000;
/** Flushing a large file to a slow disk takes long, and is one call. */
const FLUSH_FACTOR = 12;
/** How long calls may still take once the work was told to stop. */
const GRACE_MS = 2_000;

/** A call to a file system was not answered in time. It cannot be stopped, and occupies a thread until it is. */
export class UnansweredCall extends Error {
  override readonly name = 'UnansweredCall';
  readonly limitMs: number;

  constructor(limitMs: number) {
    super(`a call to a file system has not been answered for ${limitMs} ms`);
    this.limitMs = limitMs;
  }
}

/** The calls to file systems that belong together, such as those of one store. */
export interface FileCalls {
  /**
   * Does work, and settles like it. Rejects with UnansweredCall once a call to a file system that was made in any work
   * of these is not answered in time, and with the signal's reason if one is not answered soon after it aborted. The
   * work is then abandoned.
   */
  watch<Value>(work: () => Promise<Value>): Promise<Value>;
}

interface Group {
  limitMs: number;
  /** The calls that were not answered yet, by their ids. */
  waiting: Map<number, Call>;
  /** When the file system was last asked whether it is dead. */
  askedAt: number;
}

interface Call {
  madeAt: number;
  limitMs: number;
  /** When it is late, if it was found to be. A process that was suspended or busy first learns of the answers. */
  lateFrom: number | null;
}

const groups = new AsyncLocalStorage<Group>();
const flushes = new AsyncLocalStorage<boolean>();
const waitingIn = new Map<number, Group>();

// Of all asynchronous work only calls to file systems are noted: their number is small, and they need no wrapper.
const hook = createHook({
  trackPromises: false,
  init(id, type) {
    if (!type.startsWith('FSREQ')) return;
    const group = groups.getStore();
    if (group === undefined) return;
    const limitMs = group.limitMs * (flushes.getStore() === true ? FLUSH_FACTOR : 1);
    group.waiting.set(id, { madeAt: performance.now(), limitMs, lateFrom: null });
    waitingIn.set(id, group);
  },
  destroy(id) {
    waitingIn.get(id)?.waiting.delete(id);
    waitingIn.delete(id);
  },
});

interface FileCallsOptions {
  signal?: AbortSignal;
  /** Whether the file system does not answer at all. A large file may take longer than the limit to be flushed. */
  isDead?(): Promise<boolean>;
}

/** Watches calls to file systems, each of which has to be answered within `limitMs` milliseconds. */
export function openFileCalls(
  limitMs: number,
  { signal, isDead = async () => false }: FileCallsOptions = {},
): FileCalls {
  hook.enable();
  const group: Group = { limitMs, waiting: new Map(), askedAt: 0 };
  const everyMs = Math.min(Math.max(limitMs / 4, MIN_LOOK_MS), MAX_LOOK_MS);
  const isLate = (call: Call, now: number) => {
    const factor = call.limitMs / limitMs;
    const mayTakeMs = signal?.aborted ? Math.min(GRACE_MS * factor, call.limitMs) : call.limitMs;
    if (now - call.madeAt < mayTakeMs) return false;
    call.lateFrom ??= now + everyMs;
    return now >= call.lateFrom;
  };
  /** Asks, once after each limit, while a file is being flushed for longer than other calls may take. */
  const findDeath = async (now: number): Promise<boolean> => {
    const since = Math.min(...[...group.waiting.values()].map(({ madeAt }) => madeAt));
    if (now - Math.max(since, group.askedAt) < limitMs) return false;
    group.askedAt = now;
    return isDead();
  };
  return {
    async watch(work) {
      const late = Promise.withResolvers<never>();
      const look = () => {
        const now = performance.now();
        const fail = () =>
          late.reject(signal?.aborted ? signal.reason : new UnansweredCall(limitMs));
        if ([...group.waiting.values()].some((call) => isLate(call, now))) return fail();
        void findDeath(now).then((isFound) => isFound && fail(), late.reject);
      };
      look();
      const timer = setInterval(look, everyMs);
      try {
        return await Promise.race([late.promise, groups.run(group, work)]);
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** The same limit for other calls as for those of the current work; null if that is not watched. */
export function currentLimitMs(): number | null {
  return groups.getStore()?.limitMs ?? null;
}

/** Makes a call that writes all that is left of a file to the disk. */
export function flushing<Value>(call: () => Promise<Value>): Promise<Value> {
  return flushes.run(true, call);
}

/**
 * Whether a folder answers within `maxMs` milliseconds, even if with an error. Another process asks: on some mounts that
 * hang, not even SIGKILL ends one that waits.
 */
export function doesAnswer(folder: string, maxMs: number): Promise<boolean> {
  const options = { stdio: 'ignore', cwd: '/' } as const;
  const asking =
    process.platform === 'win32'
      ? spawn('cmd', ['/d', '/c', 'dir', folder], { stdio: 'ignore' })
      : spawn('ls', ['-f', '--', folder], options);
  asking.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      asking.kill('SIGKILL');
      resolve(false);
    }, maxMs);
    const answered = () => {
      clearTimeout(timer);
      resolve(true);
    };
    asking.once('exit', answered).once('error', answered);
  });
}
