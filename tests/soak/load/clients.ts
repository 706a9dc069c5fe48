import { Agent, request as openRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createMix, type LoadRequest, type LoadSecrets } from './mix.ts';

// The clients of the load test, in a process of their own: sends what the plan says, and replies with the results.

/** Either a number of clients, each with one request at a time, or a number of requests per second. */
export interface LoadPlan {
  url: string;
  secrets: LoadSecrets;
  seconds: number;
  load: { clients: number } | { perSecond: number };
}

export interface LoadResult {
  seconds: number;
  /** Durations of answered requests in milliseconds, by name and status. */
  answers: { name: string; status: number; durations: number[] }[];
  /** Requests without an answer, by reason. */
  failures: Record<string, number>;
}

/** The number of connections for a load by rate. */
const CONNECTIONS = 500;
const GIVE_UP_MS = 60_000;

process.once('message', async (plan: LoadPlan) => {
  const connections = await connect(plan);
  process.send?.('connected');
  // The result of a minute is long; without waiting, the rest of it would be lost with the channel.
  process.send?.(await run(plan, connections), undefined, undefined, () => process.disconnect());
});

/**
 * Opens the connections of a load: one for each client, or for a load by rate, as many as proxies in front of a server
 * have. Node accepts one connection per turn of its loop, so opening them later would distort the measurement.
 */
async function connect({ url, load }: LoadPlan): Promise<Agent> {
  const count = 'clients' in load ? load.clients : CONNECTIONS;
  const agent = new Agent({ keepAlive: true, maxSockets: count, maxFreeSockets: count });
  const health = { method: 'GET', path: '/health', headers: {}, name: '', weight: 0 } as const;
  // All at once, so that none is used twice.
  const opened = await Promise.all(
    Array.from({ length: count }, () => send(url, health, agent, 0)),
  );
  if (opened.some((status) => status !== 200)) throw new Error('/health did not answer 200');
  return agent;
}

async function run({ url, secrets, seconds, load }: LoadPlan, agent: Agent): Promise<LoadResult> {
  const mix = createMix(secrets).flatMap((one) => Array<LoadRequest>(one.weight).fill(one));
  const answers = new Map<string, { name: string; status: number; durations: number[] }>();
  const failures: Record<string, number> = {};
  let sent = 0;

  async function sendNext(): Promise<void> {
    // A step that has no factor in common with the size of the mix visits everything.
    const request = mix[(sent * 77) % mix.length];
    sent += 1;
    if (!request) return;
    const startedAt = performance.now();
    try {
      const status = await send(url, request, agent, sent);
      const key = `${status} ${request.name}`;
      const answer = answers.get(key) ?? { name: request.name, status, durations: [] };
      answer.durations.push(performance.now() - startedAt);
      answers.set(key, answer);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      failures[reason] = (failures[reason] ?? 0) + 1;
    }
  }

  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  if ('clients' in load) {
    const client = async () => {
      while (performance.now() < endsAt) await sendNext();
    };
    await Promise.all(Array.from({ length: load.clients }, client));
  } else {
    const under = new Set<Promise<void>>();
    while (performance.now() < endsAt) {
      const due = ((performance.now() - startedAt) / 1000) * load.perSecond;
      while (sent < due) {
        const one = sendNext().finally(() => under.delete(one));
        under.add(one);
      }
      await delay(5);
    }
    await Promise.all(under);
  }
  agent.destroy();
  const took = (performance.now() - startedAt) / 1000;
  return { seconds: took, answers: [...answers.values()], failures };
}

/** Sends one request and resolves with its status when its answer is complete, or for a stream when it begins. */
function send(url: string, request: LoadRequest, agent: Agent, serial: number): Promise<number> {
  const { method, path, headers, body } = request;
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(`${url}${path}`, {
      agent,
      method,
      headers: { ...headers, 'X-Forwarded-For': addressOf(serial) },
      timeout: GIVE_UP_MS,
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer in time')));
    outgoing.on('error', reject);
    outgoing.on('response', (answer) => {
      const status = answer.statusCode ?? 0;
      answer.on('error', reject);
      if (path.endsWith('/stream') && status === 200) {
        answer.once('data', () => {
          resolve(status);
          answer.destroy();
        });
      } else {
        answer.resume().on('end', () => resolve(status));
      }
    });
    outgoing.end(body);
  });
}

/** One of 60,000 addresses, so that none gets near its limit. */
function addressOf(serial: number): string {
  const number = serial % 60_000;
  return `10.${Math.floor(number / 250)}.${number % 250}.1`;
}
