import { guardGroup } from './orphan-guard.ts';

const KILL_AFTER_MS = 5_000;

/** A child process that leads its own process group (`detached`), so that its helpers end with it. */
export interface ProcessGroup {
  /** Terminates the group, and kills it after five seconds. */
  stop(): void;
  /** Whether it was stopped by the timeout. */
  timedOut(): boolean;
  /** Resolves if the leader has not even ended by being killed, as in a call to a file system that hangs. */
  lost: Promise<void>;
  /** Call when the child has ended. */
  release(): void;
}

/** Kills the groups that are still alive when this process exits. Uses one listener for all, as there may be many. */
const atExit = new Set<() => void>();

function killAll(): void {
  for (const kill of atExit) kill();
}

function killAtExit(kill: () => void): () => void {
  // Runs before other exit listeners, which may remove the folder that a child writes to.
  if (atExit.size === 0) process.prependOnceListener('exit', killAll);
  atExit.add(kill);
  return () => {
    if (atExit.delete(kill) && atExit.size === 0) process.removeListener('exit', killAll);
  };
}

/**
 * Stops a group when the signal aborts, after `timeoutMs` milliseconds, and when this process exits or is killed.
 * Killing only git would leave its transport helper behind, waiting for the network.
 */
export function superviseGroup(
  leader: { pid?: number | undefined; kill(signal: NodeJS.Signals): boolean },
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): ProcessGroup {
  let isOver = false;
  let force: NodeJS.Timeout | undefined;
  let giveUp: NodeJS.Timeout | undefined;
  const lost = Promise.withResolvers<void>();
  const send = (name: NodeJS.Signals) => {
    if (leader.pid === undefined) return;
    if (process.platform === 'win32') leader.kill(name);
    else signalGroup(leader.pid, name);
  };
  const stop = () => {
    send('SIGTERM');
    force ??= setTimeout(() => {
      send('SIGKILL');
      giveUp = setTimeout(lost.resolve, KILL_AFTER_MS);
    }, KILL_AFTER_MS);
  };
  const timer = setTimeout(() => {
    isOver = true;
    stop();
  }, timeoutMs);
  signal.addEventListener('abort', stop, { once: true });
  const unguard = leader.pid === undefined ? null : guardGroup(leader.pid);
  const forget = killAtExit(() => send('SIGKILL'));
  return {
    stop,
    timedOut: () => isOver,
    lost: lost.promise,
    release() {
      clearTimeout(timer);
      // A helper may ignore SIGTERM.
      if (force !== undefined) send('SIGKILL');
      clearTimeout(force);
      clearTimeout(giveUp);
      signal.removeEventListener('abort', stop);
      forget();
      unguard?.();
    },
  };
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    // The group has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
