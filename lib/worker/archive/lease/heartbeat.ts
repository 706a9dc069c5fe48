import type { Clock } from '../../../clock.ts';

export const HEARTBEAT_INTERVAL_MS = 30_000;
/** Shorter than the lease after which another worker takes over, so that two never work at once. */
const GIVE_UP_AFTER_MS = 100_000;

interface HeartbeatOptions {
  clock: Clock;
  /** Renews the heartbeat; false if the run is no longer ours. */
  beat(): Promise<boolean>;
  /** Called once if the run was taken over. */
  onTaken(): void;
  /** Called once if the database was unreachable for so long that the run may be taken over. Beating then stops. */
  onUnreachable(): void;
}

/** Renews the heartbeat every 30 seconds until it is stopped; `stop` waits for a pending one. */
export function startHeartbeat({ clock, beat, onTaken, onUnreachable }: HeartbeatOptions): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  const beating = (async () => {
    let lastSign = clock.now();
    while (await pause(clock, stopping.signal)) {
      try {
        if (!(await beat())) return onTaken();
        lastSign = clock.now();
      } catch {
        if (clock.now() - lastSign >= GIVE_UP_AFTER_MS) return onUnreachable();
      }
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await beating;
    },
  };
}

async function pause(clock: Clock, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(HEARTBEAT_INTERVAL_MS, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
