/** Limits how many bytes are held in memory at once. */
export interface ByteBudget {
  /**
   * Waits until there is room, and returns a function that frees it. A request larger than the budget waits for all of
   * it.
   */
  take(bytes: number): Promise<() => void>;
  /** Like `take`, with a buffer to use until then. Its contents are undefined. */
  takeBuffer(bytes: number): Promise<{ buffer: Buffer; release(): void }>;
}

/** A budget granted on a first come, first served basis. */
export function createByteBudget(maxBytes: number): ByteBudget {
  let free = maxBytes;
  /** Released buffers for reuse: allocating new memory takes longer than hashing its contents twice. */
  let idle: Buffer[] = [];
  const waiting: { bytes: number; start(): void }[] = [];
  const startNext = () => {
    for (let next = waiting[0]; next !== undefined && next.bytes <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.bytes;
      next.start();
    }
  };
  const take = async (wanted: number) => {
    const bytes = Math.min(wanted, maxBytes);
    await new Promise<void>((start) => {
      waiting.push({ bytes, start });
      startNext();
    });
    return () => {
      free += bytes;
      startNext();
    };
  };
  return {
    async take(bytes) {
      const release = await take(bytes);
      if (idle.reduce((sum, { length }) => sum + length, 0) > free) idle = [];
      return release;
    },
    async takeBuffer(bytes) {
      const release = await take(bytes);
      if (idle.at(-1)?.length !== bytes) idle = [];
      const buffer = idle.pop() ?? Buffer.allocUnsafe(bytes);
      return {
        buffer,
        release() {
          idle.push(buffer);
          release();
          if (free === maxBytes) idle = [];
        },
      };
    },
  };
}
