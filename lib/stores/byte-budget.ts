/** Bounds the bytes that are held in memory at once. */
export interface ByteBudget {
  /** Waits until there is room, and returns a function that frees it. More than the budget waits for all of it. */
  take(bytes: number): Promise<() => void>;
}

/** A budget that is given out first come, first served. */
export function createByteBudget(maxBytes: number): ByteBudget {
  let free = maxBytes;
  const waiting: { bytes: number; start(): void }[] = [];
  const startNext = () => {
    for (let next = waiting[0]; next !== undefined && next.bytes <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.bytes;
      next.start();
    }
  };
  return {
    async take(wanted) {
      const bytes = Math.min(wanted, maxBytes);
      await new Promise<void>((start) => {
        waiting.push({ bytes, start });
        startNext();
      });
      return () => {
        free += bytes;
        startNext();
      };
    },
  };
}
