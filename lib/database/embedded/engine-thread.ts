import { parentPort, workerData } from 'node:worker_threads';
import { type RunningPostgres, startPostgres } from './start-postgres.ts';

/** The thread's `workerData`. */
export interface EngineStart {
  folder: string | null;
  compiled: WebAssembly.Module | null;
}

/** Runs a batch of Postgres protocol messages, or shuts down. */
export type EngineRequest = { batch: Uint8Array } | { close: true };

/** The first report: the compiled module, or why Postgres did not start. */
export type EngineStarted = { started: WebAssembly.Module } | { broken: string };

/** Later reports. A batch produces outputs and `done`, or ends with `crash`. */
export type EngineReport =
  /** The batch that begins now has this `statement_timeout`, in milliseconds. */
  { limitMs: number } | { output: Uint8Array } | { done: Uint8Array } | { crash: string };

/** The exit status with which PGlite's main loop reports an error that Postgres has handled. */
const ERROR_HANDLED = 100;
const OUTPUT_BYTES = 64 * 1024;

interface EngineModule {
  _PostgresMainLoopOnce(): void;
  _GetConfigOption(name: number, missingOk: number, restrict: number): number;
  UTF8ToString(text: number): string;
  stringToUTF8OnStack(text: string): number;
  stackSave(): number;
  stackRestore(top: number): void;
}

const port = parentPort;
if (port === null) throw new Error('engine-thread.ts must run in a worker thread');
const report = (said: EngineStarted | EngineReport, transfer: ArrayBuffer[] = []) =>
  port.postMessage(said, transfer);

const collected = new Uint8Array(OUTPUT_BYTES);
let collectedBytes = 0;

/** Copies output out of Postgres's memory, which is overwritten right after the call. */
function collect(piece: Uint8Array): void {
  for (let start = 0; start < piece.length; ) {
    if (collectedBytes === OUTPUT_BYTES) {
      const output = takeCollected();
      report({ output }, [output.buffer]);
    }
    const part = piece.subarray(start, start + OUTPUT_BYTES - collectedBytes);
    collected.set(part, collectedBytes);
    collectedBytes += part.length;
    start += part.length;
  }
}

function takeCollected(): Uint8Array<ArrayBuffer> {
  const output = collected.slice(0, collectedBytes);
  collectedBytes = 0;
  return output;
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

async function start({ folder, compiled }: EngineStart): Promise<RunningPostgres | null> {
  let reason: string | null = null;
  try {
    return await startPostgres({
      folder,
      compiled,
      onLog(line) {
        reason = /\b(?:FATAL|PANIC): +(.*)/.exec(line)?.[1] ?? reason;
      },
    });
  } catch (error) {
    report({ broken: reason ?? describe(error) });
    return null;
  }
}

function serve({ pglite }: RunningPostgres): void {
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

  const run = async (batch: Uint8Array) => {
    const limitMs = readLimit();
    if (limitMs > 0) report({ limitMs });
    try {
      await pglite.execProtocolRawStream(batch, { onRawData: collect });
    } catch (error) {
      crash ??= error;
    }
    if (crash !== null) return report({ crash: describe(crash) });
    const done = takeCollected();
    report({ done }, [done.buffer]);
  };

  port?.on('message', async (request: EngineRequest) => {
    if ('batch' in request) return run(request.batch);
    await pglite.close();
    process.exit();
  });
}

const postgres = await start(workerData as EngineStart);
if (postgres !== null) {
  serve(postgres);
  report({ started: postgres.compiled });
}
