/** Exclusive use of a resource until released. Releasing it twice is harmless. */
export interface Lease {
  release(): void;
}

interface Waiter {
  take(lease: Lease): void;
  refuse(reason: unknown): void;
}

/** A fair queue that grants one lease at a time. */
export class LeaseQueue {
  #held = false;
  #closedBecause: Error | null = null;
  readonly #waiters = new Set<Waiter>();
  readonly #wanted = new Set<() => void>();
  readonly #idle = new Set<() => void>();

  /** The number of waiting callers. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Is the lease taken? */
  get held(): boolean {
    return this.#held;
  }

  get closed(): boolean {
    return this.#closedBecause !== null;
  }

  /** Waits for a lease. Rejects with the signal's reason, or with the reason passed to `close`. */
  acquire(signal?: AbortSignal): Promise<Lease> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#closedBecause !== null) return Promise.reject(this.#closedBecause);
    if (!this.#held) {
      this.#held = true;
      return Promise.resolve(this.#newLease());
    }
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener('abort', abort);
      };
      const waiter: Waiter = {
        take(lease) {
          settle();
          resolve(lease);
        },
        refuse(reason) {
          settle();
          reject(reason);
        },
      };
      const abort = () => waiter.refuse(signal?.reason);
      signal?.addEventListener('abort', abort);
      this.#waiters.add(waiter);
      for (const notice of this.#wanted) notice();
    });
  }

  /** Resolves as soon as a caller waits. Rejects with the signal's reason. */
  whenWanted(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.waiting > 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#wanted.delete(notice);
        signal.removeEventListener('abort', abort);
      };
      const notice = () => {
        settle();
        resolve();
      };
      const abort = () => {
        settle();
        reject(signal.reason);
      };
      this.#wanted.add(notice);
      signal.addEventListener('abort', abort);
    });
  }

  /** Rejects all current and future callers, and resolves when the current lease is released. */
  close(reason: Error): Promise<void> {
    this.#closedBecause ??= reason;
    for (const waiter of this.#waiters) waiter.refuse(reason);
    if (!this.#held) return Promise.resolve();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  #newLease(): Lease {
    let released = false;
    return {
      release: () => {
        if (released) return;
        released = true;
        // Yield to the event loop, so that a long queue does not starve sockets and timers.
        if (this.waiting > 0) setImmediate(() => this.#passOn());
        else this.#passOn();
      },
    };
  }

  #passOn(): void {
    const [next] = this.#waiters;
    if (next !== undefined) {
      next.take(this.#newLease());
      return;
    }
    this.#held = false;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }
}
