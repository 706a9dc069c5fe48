/** A number of places that callers take in turn. */
export interface Slots {
  /** Resolves with what gives the place back. Rejects with the signal's reason when it aborts first. */
  take(signal: AbortSignal): Promise<() => void>;
}

/** First come, first served, `count` at a time. */
export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();

  const giveBack = () => {
    const [next] = waiting;
    if (next === undefined) free++;
    else next();
  };

  return {
    take(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (free > 0) {
          free--;
          return resolve(giveBack);
        }
        const settle = () => {
          waiting.delete(enter);
          signal.removeEventListener('abort', leave);
        };
        const enter = () => {
          settle();
          resolve(giveBack);
        };
        const leave = () => {
          settle();
          reject(signal.reason);
        };
        waiting.add(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
  };
}
