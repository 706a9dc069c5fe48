/** Work that goes on beside the requests, so that a process which ends can wait for it. */
export class UnderWay {
  readonly #works = new Set<Promise<void>>();

  /** Whoever started the work deals with its failure. */
  readonly add = (work: Promise<unknown>): void => {
    const ending: Promise<void> = work.then(
      () => this.#leave(ending),
      () => this.#leave(ending),
    );
    this.#works.add(ending);
  };

  /** Resolves when none of it is left. */
  async settled(): Promise<void> {
    while (this.#works.size > 0) await Promise.all(this.#works);
  }

  #leave(ending: Promise<void>): void {
    this.#works.delete(ending);
  }
}
