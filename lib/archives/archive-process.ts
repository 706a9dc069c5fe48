import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadOnce } from '../async.ts';
import { AppError } from '../errors.ts';
import { hasOwnProcess } from '../processes/own-process.ts';
import { type FromProcess, type ToProcess, unpackError } from './archive-messages.ts';
import type { ArchiveWork, ArchiveWorkOptions } from './archive-work.ts';

/** How long an idle process is kept: as long as the archives that it keeps unpacked. */
const IDLE_MS = 10 * 60_000;

interface Call {
  signal: AbortSignal;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Finds a record on behalf of the caller. */
  findRecord: ArchiveWorkOptions['findRecord'];
  /** Why a record could not be found. */
  failure?: { error: unknown };
}

/**
 * Does the work in a process of its own, which starts with the first call and ends with this process or when it is idle.
 * Hashing, inflating, parsing and starting git delay nothing here, and a crash ends only the calls of the moment. In the
 * bundle of a deployed function, which has no other files, the work is done in this process.
 */
export function startArchiveProcess(options: ArchiveWorkOptions): ArchiveWork {
  if (!hasOwnProcess()) return loadArchiveWork(options);
  const script = fileURLToPath(new URL('./archive-process-child.ts', import.meta.url));
  if (!existsSync(script)) return loadArchiveWork(options);
  const { root, scratchFolder, environment, limits } = options;
  let current: { child: ChildProcess; calls: Map<number, Call> } | null = null;
  let lastCall = 0;
  let idle: NodeJS.Timeout | undefined;

  function start() {
    // Each version of Node.js has its own folder in it.
    const compiled = module.getCompileCacheDir?.();
    const child = fork(script, [], {
      // Nothing else of this process's environment, which has secrets.
      env: { ...environment, ...(compiled ? { NODE_COMPILE_CACHE: dirname(compiled) } : {}) },
      execArgv: [],
      serialization: 'advanced',
      // Standard output may be that of a protocol.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const calls = new Map<number, Call>();
    const started = { child, calls };
    const fail = (reason: string, cause?: unknown) => {
      if (current === started) current = null;
      const message = `the process that reads archives ${reason}: try again`;
      const error = new AppError('SERVICE_UNAVAILABLE', message, { cause });
      for (const call of calls.values())
        call.reject(call.signal.aborted ? call.signal.reason : error);
      calls.clear();
    };
    child.on('message', (message: FromProcess) => receive(started, message));
    child.once('error', (error) => fail('could not be used', error));
    child.once('exit', (code, signal) => fail(`ended unexpectedly (${signal ?? code})`));
    tell(child, { kind: 'options', options: { root, scratchFolder, environment, limits } });
    return started;
  }

  function tell(child: ChildProcess, message: ToProcess): void {
    // If it has ended, its calls fail with that.
    if (child.connected) child.send(message, () => undefined);
  }

  function receive({ child, calls }: NonNullable<typeof current>, message: FromProcess): void {
    const call = calls.get(message.call);
    if (call === undefined) return;
    if (message.kind === 'find record') {
      const { question, repository } = message;
      call.findRecord(repository, call.signal).then(
        (record) => tell(child, { kind: 'record', question, record }),
        (error) => {
          call.failure = { error };
          tell(child, { kind: 'no record', question });
        },
      );
    } else if (message.kind === 'done') call.resolve(message.result);
    else if (call.signal.aborted) call.reject(call.signal.reason);
    else call.reject(call.failure ? call.failure.error : unpackError(message.error));
  }

  async function ask<Method extends keyof ArchiveWork>(
    method: Method,
    given: unknown[],
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<ArchiveWork[Method]>>> {
    signal.throwIfAborted();
    clearTimeout(idle);
    current ??= start();
    const used = current;
    const { child, calls } = used;
    const id = ++lastCall;
    const cancel = () => tell(child, { kind: 'cancel', call: id });
    // This process does not end before the answer.
    child.ref();
    child.channel?.ref();
    try {
      return await new Promise<Awaited<ReturnType<ArchiveWork[Method]>>>((resolve, reject) => {
        // Messages arrive outside of the caller's context.
        const findRecord = AsyncLocalStorage.bind(options.findRecord);
        calls.set(id, { signal, resolve, reject, findRecord });
        signal.addEventListener('abort', cancel, { once: true });
        tell(child, { kind: 'call', call: id, method, given });
      });
    } finally {
      signal.removeEventListener('abort', cancel);
      calls.delete(id);
      if (calls.size === 0) rest(used);
    }
  }

  function rest(used: NonNullable<typeof current>): void {
    const { child } = used;
    child.unref();
    child.channel?.unref();
    idle = setTimeout(() => {
      if (current === used) current = null;
      if (child.connected) child.disconnect();
    }, IDLE_MS).unref();
  }

  return {
    check: (repository, signal) => ask('check', [repository], signal),
    describe: (repository, signal) => ask('describe', [repository], signal),
    list: (repository, request, signal) => ask('list', [repository, request], signal),
    identify: (repository, signal) => ask('identify', [repository], signal),
    readFile: (repository, path, tip, signal) => ask('readFile', [repository, path, tip], signal),
    compare: (repository, request, signal) => ask('compare', [repository, request], signal),
    compareFile: (repository, request, signal) => ask('compareFile', [repository, request], signal),
    openZip: (repository, request, signal) => ask('openZip', [repository, request], signal),
    readZip: (zip, signal) => ask('readZip', [zip], signal),
    closeZip: (zip, signal) => ask('closeZip', [zip], signal),
  };
}

/** Does the work in this process. Its code is only loaded where it is needed, because that takes a tenth of a second. */
export function loadArchiveWork(options: ArchiveWorkOptions): ArchiveWork {
  const load = loadOnce(async () => {
    const { createArchiveWork } = await import('./archive-work.ts');
    return createArchiveWork(options);
  });
  return {
    check: async (...given) => (await load()).check(...given),
    describe: async (...given) => (await load()).describe(...given),
    list: async (...given) => (await load()).list(...given),
    identify: async (...given) => (await load()).identify(...given),
    readFile: async (...given) => (await load()).readFile(...given),
    compare: async (...given) => (await load()).compare(...given),
    compareFile: async (...given) => (await load()).compareFile(...given),
    openZip: async (...given) => (await load()).openZip(...given),
    readZip: async (...given) => (await load()).readZip(...given),
    closeZip: async (...given) => (await load()).closeZip(...given),
  };
}
