/** Ends a lease. Call it once. */
export type Release = () => void;

interface Waiter {
  take(release: Release): void;
  refuse(reason: unknown): void;
}

/** A fair queue that grants one lease at a time. */
export class LeaseQueue {
  #held = false;
  #closedBecause: Error | null = null;
  readonly #waiters = new Set<Waiter>();

  /** The number of waiting callers. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Whether the lease is taken. */
  get held(): boolean {
    return this.#held;
  }

  get closed(): boolean {
    return this.#closedBecause !== null;
  }

  /** Waits for a lease. Rejects with the signal's reason, or with the reason passed to `close`. */
  async acquire(signal?: AbortSignal): Promise<Release> {
    signal?.throwIfAborted();
    if (this.#closedBecause !== null) throw this.#closedBecause;
    return this.#take(signal);
  }

  /** Rejects all current and future callers, and resolves when the current lease has ended. */
  async close(reason: Error): Promise<void> {
    this.#closedBecause = reason;
    for (const waiter of this.#waiters) waiter.refuse(reason);
    this.#waiters.clear();
    await this.#take();
  }

  #take(signal?: AbortSignal): Promise<Release> {
    if (!this.#held) {
      this.#held = true;
      return Promise.resolve(() => this.#release());
    }
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const waiter: Waiter = { take: resolve, refuse: reject };
    const leave = () => {
      this.#waiters.delete(waiter);
      reject(signal?.reason);
    };
    this.#waiters.add(waiter);
    signal?.addEventListener('abort', leave);
    return promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  #release(): void {
    // Yield to the event loop, so that a long queue does not starve sockets and timers.
    if (this.waiting > 0) setImmediate(() => this.#passOn());
    else this.#held = false;
  }

  #passOn(): void {
    const [next] = this.#waiters;
    if (next === undefined) {
      this.#held = false;
      return;
    }
    this.#waiters.delete(next);
    next.take(() => this.#release());
  }
}
