import type { Clock } from '../../clock.ts';
import { GitError } from '../../git/git.ts';
import type { Progress } from '../progress.ts';

/** A transfer without any progress for this long is given up. */
export const STALL_MS = 5 * 60_000;

/** Steps that the other side or the network can hold up; all others are this machine's own work. */
const transfer = /^(?:Enumerating|Counting|Compressing|Receiving|Finding)\b/;

/** Detects a transfer that has stopped. */
interface StallWatch {
  /** Receives git's newest progress. */
  saw(progress: Progress): void;
  /** Ends the watch. */
  end(): void;
}

/** Calls `onStall` once if a transfer has begun and shows no progress for five minutes. */
export function watchForStall(clock: Clock, onStall: (error: GitError) => void): StallWatch {
  const ended = new AbortController();
  let last = '';
  let lastAt = 0;
  let isWatching = false;
  let isTransfer = false;
  const watch = async () => {
    isWatching = true;
    for (;;) {
      const left = lastAt + STALL_MS - clock.now();
      if (isTransfer && left <= 0) break;
      try {
        await clock.sleep(isTransfer ? left : STALL_MS, ended.signal);
      } catch (error) {
        if (ended.signal.aborted) return;
        throw error;
      }
    }
    onStall(new GitError('the transfer stalled: no data for 5 minutes', 'timeout'));
  };
  return {
    saw(progress) {
      const { phase, percent, bytes } = progress;
      const seen = `${phase} ${percent} ${bytes}`;
      if (seen !== last) lastAt = clock.now();
      last = seen;
      // After the last object, all remaining work is this machine's.
      isTransfer = transfer.test(phase) && !(phase.startsWith('Receiving') && percent === 100);
      if (!isWatching) void watch();
    },
    end: () => ended.abort(),
  };
}
