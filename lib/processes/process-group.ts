const KILL_AFTER_MS = 5_000;

/** A child process that leads its own process group (`detached`), so that its helpers end with it. */
export interface ProcessGroup {
  /** Terminates the group, and kills it after five seconds. */
  stop(): void;
  /** Whether it was stopped by the timeout. */
  timedOut(): boolean;
  /** Call when the child has ended. */
  release(): void;
}

/**
 * Stops a group when the signal aborts, after `timeoutMs` milliseconds, and when this process exits. Killing
 * only git would leave its transport helper behind, waiting for the network.
 */
export function superviseGroup(
  leader: { pid?: number | undefined; kill(signal: NodeJS.Signals): boolean },
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): ProcessGroup {
  let isOver = false;
  let force: NodeJS.Timeout | undefined;
  const send = (name: NodeJS.Signals) => {
    if (leader.pid === undefined) return;
    if (process.platform === 'win32') leader.kill(name);
    else signalGroup(leader.pid, name);
  };
  const stop = () => {
    send('SIGTERM');
    force ??= setTimeout(() => send('SIGKILL'), KILL_AFTER_MS);
  };
  const killNow = () => send('SIGKILL');
  const timer = setTimeout(() => {
    isOver = true;
    stop();
  }, timeoutMs);
  signal.addEventListener('abort', stop, { once: true });
  // Before other exit listeners, which may remove the folder that the child writes to.
  process.prependOnceListener('exit', killNow);
  return {
    stop,
    timedOut: () => isOver,
    release() {
      clearTimeout(timer);
      clearTimeout(force);
      signal.removeEventListener('abort', stop);
      process.removeListener('exit', killNow);
    },
  };
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    // It has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
