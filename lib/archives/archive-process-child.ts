import { constants, setPriority } from 'node:os';
import { systemClock } from '../clock.ts';
import {
  type FromProcess,
  type ProcessOptions,
  packError,
  type ToProcess,
} from './archive-messages.ts';
import { type ArchiveWork, createArchiveWork } from './archive-work.ts';
import type { RecordedArchive } from './base/archive-owner.ts';

// The process of archives: does what the process that started it asks for, until that one ends.

// Whoever waits for the server comes first. git inherits it.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
// Ctrl-C reaches this process too, but the server finishes its running requests first.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);
// Ends git and removes scratch folders.
process.on('disconnect', () => process.exit());

const running = new Map<number, AbortController>();
const asked = new Map<number, PromiseWithResolvers<RecordedArchive | null>>();
let questions = 0;
let work: ArchiveWork | null = null;

function send(message: FromProcess): void {
  process.send?.(message);
}

/** The work for one call, whose questions are answered by the other process. */
function prepare({ root, scratchFolder, environment, limits }: ProcessOptions): ArchiveWork {
  return createArchiveWork({
    ...{ root, scratchFolder, environment, limits, clock: systemClock },
    findRecord(repository, signal) {
      const call = callOf(signal);
      const question = questions++;
      const answer = Promise.withResolvers<RecordedArchive | null>();
      asked.set(question, answer);
      send({ kind: 'find record', call, question, repository });
      return answer.promise;
    },
  });
}

const calls = new WeakMap<AbortSignal, number>();

function callOf(signal: AbortSignal): number {
  const call = calls.get(signal);
  if (call === undefined) throw new Error('a record was asked for outside of a call');
  return call;
}

async function answer(call: number, method: keyof ArchiveWork, given: unknown[]): Promise<void> {
  const stop = new AbortController();
  running.set(call, stop);
  calls.set(stop.signal, call);
  try {
    if (work === null) throw new Error('the options come first');
    const run = work[method] as (...given: unknown[]) => Promise<unknown>;
    send({ kind: 'done', call, result: await run(...given, stop.signal) });
  } catch (error) {
    send({ kind: 'failed', call, error: packError(error) });
  } finally {
    running.delete(call);
  }
}

process.on('message', (message: ToProcess) => {
  switch (message.kind) {
    case 'options':
      work = prepare(message.options);
      break;
    case 'call':
      void answer(message.call, message.method, message.given);
      break;
    case 'cancel':
      running.get(message.call)?.abort();
      break;
    case 'record':
      asked.get(message.question)?.resolve(message.record);
      asked.delete(message.question);
      break;
    case 'no record':
      asked.get(message.question)?.reject(new Error('the record cannot be read'));
      asked.delete(message.question);
      break;
  }
});
