/** So long requests are begun in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;
/** So many that wait are begun in one turn, if its time suffices. */
const MOST_AT_ONCE = 64;

/**
 * Begins requests for a few milliseconds in each turn of the event loop, and leaves the others for the next
 * turns, in their order. Hundreds that arrive together would otherwise all be worked on before the loop looks
 * at its connections again, while answers of the database and the asker of `/health` wait.
 */
export class Turns {
  readonly #waiting = new Set<() => void>();
  readonly #now: () => number;
  /** When the first request of this turn was begun; null before it. */
  #began: number | null = null;
  #isScheduled = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Calls `begin` at once, or in a later turn when this one's time is up or others wait already. */
  take(begin: () => void): void {
    if (this.#waiting.size === 0 && this.#hasTime()) {
      begin();
      return;
    }
    this.#waiting.add(begin);
    this.#schedule();
  }

  #hasTime(): boolean {
    if (this.#began !== null) return this.#now() - this.#began < TURN_MS;
    this.#began = this.#now();
    setImmediate(() => {
      this.#began = null;
    });
    return true;
  }

  /** Each gets a callback of its own: what it begins goes on, up to its first wait, before the next does. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    for (let count = 0; count < MOST_AT_ONCE; count++) setImmediate(this.#beginNext);
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#waiting.size > 0) this.#schedule();
    });
  }

  readonly #beginNext = (): void => {
    const [next] = this.#waiting;
    if (next === undefined || !this.#hasTime()) return;
    this.#waiting.delete(next);
    next();
  };
}
