import { AsyncLocalStorage } from 'node:async_hooks';

/** On whose behalf work is done, so that slow work is shared fairly and stops when nobody waits for it. */
export interface Caller {
  /** Identifies the user, or the address of a client without one. */
  key: string;
  /** Whether the number of its waiting statements is limited. */
  isLimited: boolean;
  /**
   * What its request does. Whatever has `changed` something has to finish that, so it is no longer limited. A request
   * is `checked` until its handler begins.
   */
  phase: 'checked' | 'reading' | 'changing' | 'changed';
  /** Aborts when nobody waits for the work. A function, because creating a signal takes time. */
  signal: (() => AbortSignal) | null;
}

const storage = new AsyncLocalStorage<Caller | null>();

/** The caller for whom the current work is done; null for the process's own work. */
export function currentCaller(): Caller | null {
  return storage.getStore() ?? null;
}

/** Does work on behalf of a caller. */
export function onBehalfOf<Result>(caller: Caller, work: () => Result): Result {
  return storage.run(caller, work);
}

/** Does work for the process itself: it is shared by callers, or goes on without the one that started it. */
export function onOwnBehalf<Result>(work: () => Result): Result {
  return storage.run(null, work);
}

/** Does work that only reads, on behalf of the current caller, until the signal aborts. */
export function whileWanted<Result>(signal: AbortSignal, work: () => Result): Result {
  const caller = currentCaller();
  if (caller === null) return work();
  return onBehalfOf({ ...caller, phase: 'reading', signal: () => signal }, work);
}
