import fc from 'fast-check';
import type { ServerProcess } from '../support/server-process.ts';
import type { FuzzRequest } from './requests.ts';
import type { FuzzAnswer, FuzzClient } from './send.ts';

export interface Campaign {
  arbitrary: fc.Arbitrary<FuzzRequest>;
  /** At least so many are sent. */
  requests: number;
  seed: number;
  server: ServerProcess;
  client: FuzzClient;
  /** Puts what is known only now into a request. */
  place(request: FuzzRequest): FuzzRequest;
  /** Throws an Error that says what is wrong with an answer. Returns the status that it counts as. */
  check(request: FuzzRequest, answer: FuzzAnswer): number;
  /** Called now and then, to let go of what the campaign itself collects. */
  forget(): void;
}

/** What a campaign found, where it found no fault. */
export interface Tally {
  requests: number;
  seconds: number;
  /** How often each status came, by the name of the operation; `(other)` is what none describes. */
  statuses: Map<string, Map<number, number>>;
  /** Milliseconds that all answers of an operation took, by its name. */
  spentMs: Map<string, number>;
  /** Answers that were slow or 503, and were asked for again alone. */
  askedAgain: number;
  /** The slowest of those that were as slow alone, in milliseconds. */
  slowestMs: number;
  /** Bytes of live objects after the first eighth, the half and the end. */
  heap: [start: number, middle: number, end: number];
  /** Requests and answers that the server still held at the end. */
  held: number;
}

type Unended = Omit<Tally, 'heap' | 'held' | 'seconds'>;

/** Requests that are under way at a time. */
const AT_ONCE = 8;
const EIGHTHS = 8;
/** For so long a smaller request with the same fault is looked for. */
const SHRINK_MS = 20_000;
/** No answer takes longer. */
const SLOW_MS = 2_000;
/** Of a part that did not answer within its limit, which is how slowness shows in another's answer. */
const UNAVAILABLE = 503;

/**
 * Sends generated requests until there were enough. Throws at the first answer that is wrong, with the
 * seed and the smallest request that shows it.
 */
export async function runCampaign(campaign: Campaign): Promise<Tally> {
  const { arbitrary, requests, seed, server, forget } = campaign;
  const tally: Unended = {
    requests: 0,
    statuses: new Map(),
    spentMs: new Map(),
    askedAgain: 0,
    slowestMs: 0,
  };
  const heap: number[] = [];
  let held = 0;
  const startedAt = performance.now();
  const batches = fc.array(arbitrary, { minLength: AT_ONCE, maxLength: AT_ONCE });
  let failedAt = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(batches, async (batch) => {
    // Everything passes then, which leaves the smallest request so far.
    if (performance.now() > failedAt + SHRINK_MS) return;
    try {
      await sendBatch(batch, campaign, tally);
    } catch (error) {
      if (failedAt === Number.POSITIVE_INFINITY) process.stderr.write(`${error}\n`);
      failedAt = Math.min(failedAt, performance.now());
      throw error;
    }
  });
  const numRuns = Math.ceil(requests / EIGHTHS / AT_ONCE);
  for (let eighth = 1; eighth <= EIGHTHS; eighth++) {
    await fc.assert(property, { seed: seed + eighth, numRuns });
    forget();
    const memory = await server.memory();
    heap.push(memory.heapUsed);
    held = memory.requests + memory.responses;
    // A long run takes an hour and more.
    process.stderr.write(`fuzz: ${tally.requests} of ${requests} requests\n`);
  }
  const [start = 0, middle = 0, end = 0] = [heap[0], heap[EIGHTHS / 2 - 1], heap[EIGHTHS - 1]];
  const seconds = (performance.now() - startedAt) / 1000;
  return { ...tally, seconds, heap: [start, middle, end], held };
}

async function sendBatch(
  batch: readonly FuzzRequest[],
  { client, place, check }: Campaign,
  tally: Unended,
): Promise<void> {
  const late: FuzzRequest[] = [];
  const ended = await Promise.allSettled(
    batch.map(async (generated) => {
      const request = place(generated);
      const answer = await ask(request);
      if (isLate(answer)) late.push(request);
      const { status, durationMs } = answer;
      const name = request.operation ?? '(other)';
      const statuses = tally.statuses.get(name) ?? new Map<number, number>();
      tally.statuses.set(name, statuses.set(status, (statuses.get(status) ?? 0) + 1));
      tally.spentMs.set(name, (tally.spentMs.get(name) ?? 0) + durationMs);
      tally.requests += 1;
    }),
  );
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  for (const request of late) await askAlone(request);

  async function ask(request: FuzzRequest): Promise<{ status: number; durationMs: number }> {
    try {
      const answer = await client.send(request);
      return { status: check(request, answer), durationMs: answer.durationMs };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`${request.operation}: ${reason}\n${client.describe(request)}`);
    }
  }

  /** On a busy machine anything may be slow once. */
  async function askAlone(request: FuzzRequest): Promise<void> {
    const answers: { status: number; durationMs: number }[] = [];
    for (let attempt = 0; attempt < 3; attempt++) answers.push(await ask(request));
    tally.askedAgain += 1;
    const least = Math.min(...answers.map(({ durationMs }) => durationMs));
    tally.slowestMs = Math.max(tally.slowestMs, least);
    if (answers.every(isLate)) {
      const told = answers.map(({ status, durationMs }) => `${status} in ${durationMs} ms`);
      throw new Error(`answered ${told.join(', ')} alone:\n${client.describe(request)}`);
    }
  }
}

function isLate({ status, durationMs }: { status: number; durationMs: number }): boolean {
  return durationMs > SLOW_MS || status === UNAVAILABLE;
}

/** How many answers of an operation were successes. */
export function successesOf(tally: Tally, operation: string): number {
  let count = 0;
  for (const [status, times] of tally.statuses.get(operation) ?? [])
    if (status < 300) count += times;
  return count;
}

/** The tally as a person reads it. */
export function describeTally(tally: Tally): string {
  const { requests, seconds, statuses, spentMs, heap, held, askedAgain, slowestMs } = tally;
  const lines = [...statuses].sort().map(([name, counts]) => {
    const parts = [...counts]
      .sort(([a], [b]) => a - b)
      .map(([status, times]) => `${status}×${times}`);
    const count = [...counts.values()].reduce((sum, times) => sum + times, 0);
    const mean = ((spentMs.get(name) ?? 0) / count).toFixed(0);
    return `  ${name.padEnd(36)} ${mean.padStart(4)} ms  ${parts.join(' ')}`;
  });
  const memory = heap.map((bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`).join(', ');
  return [
    `fuzz: ${requests} requests in ${seconds.toFixed(0)} s; heap ${memory}; ${held} requests and answers held; ${askedAgain} asked again, slowest ${slowestMs.toFixed(0)} ms`,
    ...lines,
  ].join('\n');
}
