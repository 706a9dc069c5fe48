import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { takeClientRole } from './client-role.ts';
import { AHEAD_MS, INTERRUPT } from './engine-control.ts';

/** Runs a batch of Postgres protocol messages, or shuts down. */
export type EngineRequest = { batch: Uint8Array } | { close: true };

/** The first report: Postgres has started, or why it did not. */
export type EngineStarted = { started: true } | { broken: string };

/** What a new thread receives. */
export interface EngineData {
  /** The folder of the database. */
  folder: string;
  /** Numbers in shared memory, at INTERRUPT and AHEAD_MS. */
  control: SharedArrayBuffer;
}

/** Later reports. A batch produces outputs and ends with `done` or `crash`. */
export type EngineReport =
  /** The batch that begins now has this `statement_timeout`, in milliseconds. */
  { limitMs: number } | { output: Uint8Array } | { done: true } | { crash: string };

/** The exit status with which PGlite's main loop reports an error that Postgres has handled. */
const ERROR_HANDLED = 100;

/**
 * WebAssembly's stack is much smaller than the 2 MB that Postgres assumes: without this limit, infinite
 * recursion would crash the database instead of failing.
 */
const startParams = [...PGlite.defaultStartParams, '-c', 'max_stack_depth=200kB'];

interface EngineModule {
  _PostgresMainLoopOnce(): void;
  /** Addresses of the flags that Postgres checks between rows; a signal would set them. */
  _QueryCancelPending: number;
  _InterruptPending: number;
  HEAPU8: Uint8Array;
  FS: Record<'read' | 'write', (...given: unknown[]) => unknown>;
  _GetConfigOption(name: number, missingOk: number, restrict: number): number;
  UTF8ToString(text: number): string;
  stringToUTF8OnStack(text: string): number;
  stackSave(): number;
  stackRestore(top: number): void;
}

const port = parentPort;
if (port === null) throw new Error('engine-thread.ts must run in a worker thread');
const report = (said: EngineStarted | EngineReport) => port.postMessage(said);
const { folder, control: memory } = workerData as EngineData;
const control = new Int32Array(memory);

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

async function start(folder: string): Promise<PGlite | null> {
  let reason: string | null = null;
  const onStderr = (line: string) => {
    reason = /\b(?:FATAL|PANIC): +(.*)/.exec(line)?.[1] ?? reason;
    return true;
  };
  try {
    const pglite = await PGlite.create(folder, { extensions: { vector }, startParams, onStderr });
    await takeClientRole(pglite);
    return pglite;
  } catch (error) {
    // PGlite may throw values that are not Errors.
    report({ broken: reason ?? describe(error) });
    return null;
  }
}

/** Cancels the running statement at the next point where Postgres allows it, or (0) takes that back. */
function setCanceled({ HEAPU8, _QueryCancelPending, _InterruptPending }: EngineModule, to: 0 | 1) {
  HEAPU8[_QueryCancelPending] = to;
  HEAPU8[_InterruptPending] = to;
}

/**
 * A running statement blocks this thread, and WebAssembly has no signals. But Postgres calls JavaScript to access
 * files and to read the time, so a request to cancel is noticed then.
 */
function watchInterruption(module: EngineModule): void {
  const watched =
    <Given extends unknown[], Result>(call: (...given: Given) => Result) =>
    (...given: Given): Result => {
      if (Atomics.load(control, INTERRUPT) !== 0) setCanceled(module, 1);
      return call(...given);
    };
  const { FS } = module;
  FS.read = watched(FS.read.bind(FS));
  FS.write = watched(FS.write.bind(FS));
  const now = Date.now;
  Date.now = watched(() => now() + Atomics.load(control, AHEAD_MS));
}

function serve(pglite: PGlite): void {
  const module = pglite.Module as unknown as EngineModule;
  const step = module._PostgresMainLoopOnce;
  let crash: unknown = null;
  // PGlite itself would continue after a crash, with possibly corrupt memory.
  module._PostgresMainLoopOnce = () => {
    try {
      step();
    } catch (error) {
      if ((error as { status?: unknown }).status !== ERROR_HANDLED) crash ??= error;
      throw error;
    }
  };

  /** Postgres's own timer cannot fire while a statement runs in WebAssembly. */
  const readLimit = () => {
    const top = module.stackSave();
    const name = module.stringToUTF8OnStack('statement_timeout');
    const value = Number(module.UTF8ToString(module._GetConfigOption(name, 1, 0)));
    module.stackRestore(top);
    return value;
  };

  watchInterruption(module);

  const run = async (batch: Uint8Array) => {
    setCanceled(module, 0);
    const limitMs = readLimit();
    if (limitMs > 0) report({ limitMs });
    try {
      // Copied, because Postgres overwrites it right after the call.
      const onRawData = (output: Uint8Array) => report({ output: output.slice() });
      await pglite.execProtocolRawStream(batch, { onRawData });
    } catch (error) {
      crash ??= error;
    }
    report(crash === null ? { done: true } : { crash: describe(crash) });
  };

  port?.on('message', async (request: EngineRequest) => {
    if ('batch' in request) return run(request.batch);
    await pglite.close();
    process.exit();
  });
}

const postgres = await start(folder);
if (postgres !== null) {
  serve(postgres);
  report({ started: true });
}
