import fc from 'fast-check';
import type { ServerProcess } from '../support/server-process.ts';
import type { FuzzRequest } from './requests.ts';
import type { FuzzAnswer, FuzzClient } from './send.ts';

export interface Campaign {
  arbitrary: fc.Arbitrary<FuzzRequest>;
  /** Minimum number of requests. */
  requests: number;
  seed: number;
  server: ServerProcess;
  client: FuzzClient;
  /** Inserts values into a request that are known only now. */
  place(request: FuzzRequest): FuzzRequest;
  /** Throws an Error that explains what is wrong with an answer. Returns the status that it counts as. */
  check(request: FuzzRequest, answer: FuzzAnswer): number;
  /** Called between parts, to release what the campaign itself collects. */
  forget(): Promise<void>;
}

/** The results of a campaign without failures. */
export interface Tally {
  requests: number;
  seconds: number;
  /** How often each status came, by operation name. `(other)` are requests that no operation describes. */
  statuses: Map<string, Map<number, number>>;
  /** The total milliseconds of an operation's answers, by its name. */
  spentMs: Map<string, number>;
  /** Answers that were slow and were requested again alone. */
  slow: number;
  /** The slowest of these when requested alone, in milliseconds. */
  slowestMs: number;
  /** 503 answers that were not 503 when requested again alone. */
  unavailable: number;
  /** Bytes of live objects after the first eighth, at the half and at the end. */
  heap: [start: number, middle: number, end: number];
  /** Requests and answers that the server still held at the end. */
  held: number;
}

type Unended = Omit<Tally, 'heap' | 'held' | 'seconds'>;

/** Requests in progress at a time. */
const AT_ONCE = 8;
/** Requests after which what they created is removed; otherwise a long run would measure a growing database. */
const MAX_IN_A_PART = 25_000;
const MIN_PARTS = 8;
/** Large enough that runs with neighbouring seeds have no part in common. */
const SEED_STEP = 0x9e37_79b9;
/** Time limit for searching a smaller request with the same failure. */
const SHRINK_MS = 20_000;
/** A slower answer is requested again alone. */
const SLOW_MS = 2_000;
/** Maximum processor time of the server for an answer, which tells a slow request from a busy machine. */
const MAX_WORK_MS = 2_000;
/** Maximum duration of an answer that is requested alone, even on a busy machine. */
const MAX_WAIT_MS = 10_000;
const UNAVAILABLE = 503;
/** How many more requests an operation gets at a time that none succeeded for, and how often. */
const REQUESTS_A_ROUND = 40;
const MAX_ROUNDS = 25;

/**
 * Sends generated requests until there are enough, and measures what the server holds. Throws at the first wrong answer,
 * with the seed and the smallest request that produces it.
 */
export async function runCampaign(campaign: Campaign): Promise<Tally> {
  const { requests, seed, server, forget } = campaign;
  const tally = emptyTally();
  const startedAt = performance.now();
  const parts = Math.max(MIN_PARTS, Math.ceil(requests / MAX_IN_A_PART));
  const measured = [1 / 8, 1 / 2, 1].map((share) => Math.ceil(parts * share));
  const heap: number[] = [];
  let held = 0;
  for (let part = 1; part <= parts; part++) {
    await sendGenerated(campaign, tally, {
      requests: requests / parts,
      seed: (seed + part * SEED_STEP) | 0,
    });
    await forget();
    if (measured.includes(part)) {
      const memory = await server.memory();
      heap.push(memory.heapUsed);
      held = memory.requests + memory.responses;
    }
    // A long run takes an hour or more.
    process.stderr.write(`fuzz: ${tally.requests} of ${requests} requests\n`);
  }
  const [start = 0, middle = 0, end = 0] = heap;
  const seconds = (performance.now() - startedAt) / 1000;
  return { ...tally, seconds, heap: [start, middle, end], held };
}

/**
 * By chance, an operation may have had few valid requests. Sends more until one succeeds, and adds their statuses to the
 * tally. Throws like `runCampaign`.
 */
export async function tryUntilSuccess(
  campaign: Omit<Campaign, 'requests'>,
  tally: Tally,
  operation: string,
): Promise<void> {
  for (let round = 1; round <= MAX_ROUNDS && successesOf(tally, operation) === 0; round++) {
    const extra = emptyTally();
    const size = { requests: REQUESTS_A_ROUND, seed: campaign.seed + round };
    await sendGenerated({ ...campaign, ...size }, extra, size);
    tally.statuses.set(operation, extra.statuses.get(operation) ?? new Map());
  }
}

const emptyTally = (): Unended => ({
  requests: 0,
  statuses: new Map(),
  spentMs: new Map(),
  slow: 0,
  slowestMs: 0,
  unavailable: 0,
});

async function sendGenerated(
  campaign: Campaign,
  tally: Unended,
  { requests, seed }: { requests: number; seed: number },
): Promise<void> {
  const { arbitrary } = campaign;
  const batches = fc.array(arbitrary, { minLength: AT_ONCE, maxLength: AT_ONCE });
  let failedAt = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(batches, async (batch) => {
    // From then on everything passes, which leaves the smallest request so far.
    if (performance.now() > failedAt + SHRINK_MS) return;
    try {
      await sendBatch(batch, campaign, tally);
    } catch (error) {
      if (failedAt === Number.POSITIVE_INFINITY) process.stderr.write(`${error}\n`);
      failedAt = Math.min(failedAt, performance.now());
      throw error;
    }
  });
  await fc.assert(property, { seed, numRuns: Math.ceil(requests / AT_ONCE) });
}

async function sendBatch(
  batch: readonly FuzzRequest[],
  { client, server, place, check }: Campaign,
  tally: Unended,
): Promise<void> {
  const slow: FuzzRequest[] = [];
  const unavailable: FuzzRequest[] = [];
  const ended = await Promise.allSettled(
    batch.map(async (generated) => {
      const request = place(generated);
      const { status, durationMs } = await ask(request);
      if (durationMs > SLOW_MS) slow.push(request);
      else if (status === UNAVAILABLE) unavailable.push(request);
      const name = request.operation ?? '(other)';
      const statuses = tally.statuses.get(name) ?? new Map<number, number>();
      tally.statuses.set(name, statuses.set(status, (statuses.get(status) ?? 0) + 1));
      tally.spentMs.set(name, (tally.spentMs.get(name) ?? 0) + durationMs);
      tally.requests += 1;
    }),
  );
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  for (const request of slow) {
    const answers = await askAlone(request);
    const work = Math.min(...answers.map(({ workMs }) => workMs));
    const least = Math.min(...answers.map(({ durationMs }) => durationMs));
    if (work > MAX_WORK_MS || least > MAX_WAIT_MS) {
      const took = `took ${least} ms alone, ${work} ms of them work`;
      throw new Error(`${took}:\n${client.describe(request)}`);
    }
    tally.slow += 1;
    tally.slowestMs = Math.max(tally.slowestMs, least);
  }
  for (const request of unavailable) {
    const answers = await askAlone(request);
    if (answers.every(({ status }) => status === UNAVAILABLE)) {
      throw new Error(`answered 503 alone too:\n${client.describe(request)}`);
    }
    process.stderr.write(`fuzz: 503, but not alone: ${client.describe(request)}\n`);
    tally.unavailable += 1;
  }

  async function ask(request: FuzzRequest): Promise<{ status: number; durationMs: number }> {
    try {
      const answer = await client.send(request);
      return { status: check(request, answer), durationMs: answer.durationMs };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`${request.operation}: ${reason}\n${client.describe(request)}`);
    }
  }

  /** On a busy machine, any request may be slow once, and a slow dependency may cause a 503. */
  async function askAlone(request: FuzzRequest) {
    const answers = [];
    for (let time = 1; time <= 3; time++) {
      const before = await server.processorMs();
      const answer = await ask(request);
      answers.push({ ...answer, workMs: (await server.processorMs()) - before });
    }
    return answers;
  }
}

/** How many answers of an operation were successes. */
export function successesOf(tally: Tally, operation: string): number {
  let count = 0;
  for (const [status, times] of tally.statuses.get(operation) ?? [])
    if (status < 300) count += times;
  return count;
}

/** The tally for people. */
export function describeTally(tally: Tally): string {
  const { requests, seconds, statuses, spentMs, heap, held, slow, slowestMs, unavailable } = tally;
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
    `fuzz: ${requests} requests in ${seconds.toFixed(0)} s; heap ${memory}; ${held} requests and answers held; ${slow} slow, alone ${slowestMs.toFixed(0)} ms at most; ${unavailable} once unavailable`,
    ...lines,
  ].join('\n');
}
