import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { AHEAD_MS, INTERRUPT } from './engine-control.ts';
import type { EngineData, EngineReport, EngineRequest, EngineStarted } from './engine-thread.ts';

/** Postgres cannot start with the given files. */
export class EngineBroken extends Error {
  override readonly name = 'EngineBroken';
}

interface Batch {
  /** Receives the answer in chunks while the batch runs. */
  onOutput(output: Uint8Array): void;
  /** Reports the statement timeout of the batch that starts now. */
  onLimit(limitMs: number): void;
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * Runs PGlite in a worker thread, because a running statement blocks its thread. The thread can be terminated at
 * any time.
 */
export class Engine {
  readonly #thread: Worker;
  /** Shared with the thread, which cannot receive messages while a statement runs. */
  readonly #control: Int32Array;
  readonly #exit: Promise<unknown>;
  #batch: Batch | null = null;
  #ended: Error | null = null;

  private constructor(thread: Worker, control: SharedArrayBuffer) {
    this.#thread = thread;
    this.#control = new Int32Array(control);
    this.#exit = once(thread, 'exit');
    thread.on('message', (report: EngineReport) => this.#hear(report));
    thread.on('error', (cause) => this.#fail(new Error('its thread failed', { cause })));
    thread.on('exit', () => this.#fail(new Error('its thread has ended')));
  }

  /** Starts Postgres in a folder. Throws EngineBroken when it fails. */
  static async start(folder: string): Promise<Engine> {
    const control = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
    const data: EngineData = { folder, control };
    const thread = new Worker(new URL('./engine-thread.ts', import.meta.url), {
      name: 'embedded-database',
      workerData: data,
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    const first = once(thread, 'message') as Promise<[EngineStarted]>;
    const exit = once(thread, 'exit');
    const [report] = await Promise.race([first, exit.then(() => [{ broken: 'its thread ended' }])]);
    if ('started' in report) return new Engine(thread, control);
    await thread.terminate();
    throw new EngineBroken(report.broken);
  }

  /** Runs Postgres protocol messages, one batch at a time. Rejects when the engine has ended. */
  run(messages: readonly Buffer[], listener: Pick<Batch, 'onOutput' | 'onLimit'>): Promise<void> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#batch = { ...listener, resolve, reject };
      Atomics.store(this.#control, INTERRUPT, 0);
      Atomics.store(this.#control, AHEAD_MS, 0);
      this.#ask({ batch: new Uint8Array(Buffer.concat(messages)) });
    });
  }

  /**
   * Asks Postgres to cancel the running batch. It notices when it next accesses a file or reads the time: most long
   * statements often do, but not all.
   */
  interrupt(): void {
    if (this.#batch !== null) Atomics.store(this.#control, INTERRUPT, 1);
  }

  /** Sets the clock of the running batch ahead, so that a statement with a time budget ends as if it was used up. */
  hasten(ms: number): void {
    if (this.#batch !== null) Atomics.store(this.#control, AHEAD_MS, ms);
  }

  /** Terminates the thread immediately. A running batch rejects. */
  async kill(): Promise<void> {
    this.#fail(new Error('it was ended'));
    await this.#thread.terminate();
  }

  /** Shuts Postgres down. No batch may be running. */
  async close(): Promise<void> {
    if (this.#ended === null) this.#ask({ close: true });
    await this.#exit;
  }

  #ask(request: EngineRequest): void {
    this.#thread.postMessage(request);
  }

  #hear(report: EngineReport): void {
    const batch = this.#batch;
    if (batch === null) return;
    if ('output' in report) batch.onOutput(report.output);
    else if ('limitMs' in report) batch.onLimit(report.limitMs);
    else if ('crash' in report) this.#fail(new Error(report.crash));
    else {
      this.#batch = null;
      batch.resolve();
    }
  }

  #fail(reason: Error): void {
    this.#ended ??= reason;
    this.#batch?.reject(this.#ended);
    this.#batch = null;
  }
}
