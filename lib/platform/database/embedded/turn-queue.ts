/** The right to use what the queue guards, until it is released. Releasing twice does nothing. */
export interface Turn {
  release(): void;
}

interface Waiter {
  take(turn: Turn): void;
  refuse(reason: unknown): void;
}

/** First come, first served: one turn at a time. */
export class TurnQueue {
  #held = false;
  #closedBecause: Error | null = null;
  readonly #waiters = new Set<Waiter>();
  readonly #wanted = new Set<() => void>();
  readonly #idle = new Set<() => void>();

  /** How many wait for a turn now. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Is a turn out now? */
  get held(): boolean {
    return this.#held;
  }

  /** Has `close` been called? */
  get closed(): boolean {
    return this.#closedBecause !== null;
  }

  /** Resolves with the turn. Rejects with the signal's reason, or with the reason of `close`. */
  acquire(signal?: AbortSignal): Promise<Turn> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#closedBecause !== null) return Promise.reject(this.#closedBecause);
    if (!this.#held) {
      this.#held = true;
      return Promise.resolve(this.#newTurn());
    }
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener('abort', abort);
      };
      const waiter: Waiter = {
        take(turn) {
          settle();
          resolve(turn);
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

  /** Resolves as soon as somebody waits. Rejects with the signal's reason. */
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

  /** Refuses everyone who waits or comes later, and resolves when the turn that is out has ended. */
  close(reason: Error): Promise<void> {
    this.#closedBecause ??= reason;
    for (const waiter of this.#waiters) waiter.refuse(reason);
    if (!this.#held) return Promise.resolve();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  #newTurn(): Turn {
    let released = false;
    return {
      release: () => {
        if (released) return;
        released = true;
        // By way of the event loop, so that a long queue does not keep sockets and timers waiting.
        if (this.waiting > 0) setImmediate(() => this.#passOn());
        else this.#passOn();
      },
    };
  }

  #passOn(): void {
    const [next] = this.#waiters;
    if (next !== undefined) {
      next.take(this.#newTurn());
      return;
    }
    this.#held = false;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }
}
