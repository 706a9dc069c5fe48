import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { EngineReport, EngineRequest, EngineStart, EngineStarted } from './engine-thread.ts';

/** The engine crashed or was told to end. */
class EngineEnded extends Error {
  override readonly name = 'EngineEnded';
}

/** Postgres cannot start with the given files. */
export class EngineBroken extends Error {
  override readonly name = 'EngineBroken';
}

export interface EngineListener {
  /** Receives the answer in chunks while the batch runs. */
  onOutput(output: Buffer): void;
  /** Reports the statement timeout of the batch that starts now. */
  onLimit(limitMs: number): void;
}

interface RunningBatch extends EngineListener {
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * Runs PGlite in a worker thread, because a running statement blocks its thread and cannot be interrupted.
 * The thread can be terminated at any time.
 */
export class Engine {
  readonly #thread: Worker;
  readonly #exit: Promise<unknown>;
  #batch: RunningBatch | null = null;
  #ended: Error | null = null;

  private constructor(thread: Worker) {
    this.#thread = thread;
    this.#exit = once(thread, 'exit');
    thread.on('message', (report: EngineReport) => this.#hear(report));
    thread.on('error', (error) =>
      this.#fail(new EngineEnded('its thread failed', { cause: error })),
    );
    thread.on('exit', () => this.#fail(new EngineEnded('its thread has ended')));
  }

  /**
   * Starts Postgres, compiling it unless a compiled module is given. Throws EngineBroken when it fails.
   */
  static async start(
    start: EngineStart,
  ): Promise<{ engine: Engine; compiled: WebAssembly.Module }> {
    const thread = new Worker(new URL('./engine-thread.ts', import.meta.url), {
      name: 'embedded-database',
      workerData: start,
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    const first = once(thread, 'message') as Promise<[EngineStarted]>;
    const exit = once(thread, 'exit');
    const [report] = await Promise.race([first, exit.then(() => [{ broken: 'its thread ended' }])]);
    if ('started' in report) return { engine: new Engine(thread), compiled: report.started };
    await thread.terminate();
    throw new EngineBroken(report.broken);
  }

  /** Runs Postgres protocol messages, one batch at a time. Rejects with EngineEnded. */
  run(messages: readonly Buffer[], listener: EngineListener): Promise<void> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const batch = new Uint8Array(messages.reduce((bytes, { length }) => bytes + length, 0));
    let offset = 0;
    for (const message of messages) {
      batch.set(message, offset);
      offset += message.length;
    }
    return new Promise((resolve, reject) => {
      this.#batch = { ...listener, resolve, reject };
      this.#ask({ batch }, [batch.buffer]);
    });
  }

  /** Terminates the thread immediately. A running batch rejects with EngineEnded. */
  async kill(): Promise<void> {
    this.#fail(new EngineEnded('it was ended'));
    await this.#thread.terminate();
  }

  /** Shuts Postgres down. No batch may be running. */
  async close(): Promise<void> {
    if (this.#ended === null) this.#ask({ close: true });
    await this.#exit;
  }

  #ask(request: EngineRequest, transfer: ArrayBuffer[] = []): void {
    this.#thread.postMessage(request, transfer);
  }

  #hear(report: EngineReport): void {
    const batch = this.#batch;
    if (batch === null) return;
    if ('output' in report) batch.onOutput(toBuffer(report.output));
    else if ('limitMs' in report) batch.onLimit(report.limitMs);
    else if ('crash' in report) this.#fail(new EngineEnded(report.crash));
    else if ('done' in report) {
      if (report.done.length > 0) batch.onOutput(toBuffer(report.done));
      this.#batch = null;
      batch.resolve();
    }
  }

  #fail(reason: Error): void {
    this.#ended ??= reason;
    const batch = this.#batch;
    this.#batch = null;
    batch?.reject(this.#ended);
  }
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
