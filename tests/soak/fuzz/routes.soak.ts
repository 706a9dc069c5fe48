import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seed, times } from '../size.ts';
import { createAnswerCheck } from './answers.ts';
import {
  describeTally,
  runCampaign,
  successesOf,
  type Tally,
  tryUntilSuccess,
} from './campaign.ts';
import { makeCredentials, tokenOfAda } from './credentials.ts';
import { type HeldOpen, holdConfirmation, holdSession } from './held-open.ts';
import { known, knownBody, knownHeaders, type Placed, place } from './known.ts';
import { listOperations, type OpenApi, type Operation } from './operations.ts';
import { type FuzzRequest, foreignRequests, type RequestSources, requestsTo } from './requests.ts';
import { createFuzzClient, type FuzzAnswer, type FuzzClient } from './send.ts';
import { startFuzzWorld } from './world.ts';

const REQUESTS = times(1_000, 1_000_000);
/** Operations that cost a tenth of a second of both cores, or a megabyte of text, and are requested less often. */
const expensive = new Set(['POST /auth/login', 'GET /docs', 'GET /openapi.json', 'GET /metrics']);

/**
 * A turn takes only some milliseconds here. tests/observatory/chat stops one that waits. The others need a run under way,
 * a signed drill, a repository of this machine or a published page, which their own tests make.
 */
const needsTheRightMoment = new Set([
  'POST /chat/stop',
  'POST /api/backups/{id}/stop',
  'GET /api/drills/{id}/statement',
  'GET /api/signing-keys/{id}',
  'POST /api/sources',
  'POST /api/sources/try',
  'DELETE /api/sources/{id}',
  'GET /status/{address}',
  'PUT /api/objectives/{id}',
]);

let world: Awaited<ReturnType<typeof startFuzzWorld>>;
let client: FuzzClient;
let operations: Operation[];
let document: OpenApi;
let held: HeldOpen[] = [];
let tally: Tally;
const placed: Placed = {
  generation: '1',
  report: '',
  confirmation: '',
  sseSession: '',
  runRequest: '1',
  badge: '1',
};

beforeAll(async () => {
  world = await startFuzzWorld('embedded');
  const { url } = world.server;
  client = createFuzzClient(url);
  document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  operations = listOperations(document);
  const token = await tokenOfAda();
  const [session, confirmation] = await Promise.all([
    holdSession(url),
    holdConfirmation(url, token),
  ]);
  held = [session, confirmation];
  Object.defineProperties(placed, {
    sseSession: { get: session.id, enumerable: true },
    confirmation: { get: confirmation.id, enumerable: true },
  });
  placed.report = await makeReport(url, token);
});

afterAll(async () => {
  await Promise.all(held.map((it) => it.close()));
  client?.close();
  expect(await world?.close()).toBe(0);
});

describe('generated requests', () => {
  it(`are answered as the document describes: ${REQUESTS} of them`, async () => {
    const byName = new Map(operations.map((operation) => [operation.name, operation]));
    const checkAnswer = createAnswerCheck(document, byName);
    const credentials = await makeCredentials();
    const sources: RequestSources = {
      document,
      known,
      knownBody,
      knownHeaders,
      hostileIn: 8,
      credentials,
    };
    const arbitrary = fc.oneof(
      { weight: 20, arbitrary: foreignRequests(operations, sources) },
      ...operations.map((operation) => ({
        weight: expensive.has(operation.name) ? 2 : 10,
        arbitrary: requestsTo(operation, sources),
      })),
    );
    const campaign = {
      seed,
      client,
      server: world.server,
      place: (request: FuzzRequest) => place(request, placed),
      check(request: FuzzRequest, answer: FuzzAnswer) {
        checkAnswer(request, answer);
        noteGeneration(request, answer);
        noteRunRequest(request, answer);
        noteBadge(request, answer);
        return answer.status;
      },
      forget: world.forget,
    };
    tally = await runCampaign({ ...campaign, arbitrary, requests: REQUESTS });
    // Along with those that create what it needs.
    for (const operation of seldomReached()) {
      const kin = operations.filter(({ path }) => resourceOf(path) === resourceOf(operation.path));
      const ofKin = fc.oneof(
        { weight: kin.length, arbitrary: requestsTo(operation, sources) },
        ...kin.map((it) => requestsTo(it, sources)),
      );
      await tryUntilSuccess({ ...campaign, arbitrary: ofKin }, tally, operation.name);
    }
    process.stdout.write(`${describeTally(tally)}\n`);
    expect(tally.requests).toBeGreaterThanOrEqual(REQUESTS);
    // What a busy machine excuses must be rare.
    expect(tally.slow).toBeLessThan(REQUESTS / 200);
    expect(tally.unavailable).toBeLessThan(5);
  });

  it('reach every operation: each one succeeded for some of them', () => {
    expect(seldomReached().map(({ name }) => name)).toEqual([]);
  });

  it('leave no failures in the log', () => {
    expect(world.server.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('leave nothing in memory', () => {
    const [start, middle, end] = tally.heap;
    expect(Math.max(middle, end) - start).toBeLessThan(16 * 2 ** 20);
    // Those of open connections, and a few more.
    expect(tally.held).toBeLessThan(30);
  });
});

/** Whether no request of an operation succeeded. */
const isSeldom = ({ name }: Operation) =>
  successesOf(tally, name) === 0 && !needsTheRightMoment.has(name);

const seldomReached = () => operations.filter(isSeldom);

/** `/api/badges` of `/api/badges/{id}`, and `/users` of `/users/{name}/password`. */
const resourceOf = (path: string) => /^(?:\/api)?\/[^/]+/.exec(path)?.[0];

/** The next requests use the newest generation. */
function noteGeneration({ operation }: FuzzRequest, { status, text }: FuzzAnswer): void {
  if (operation !== 'POST /embeddings/switch-model' || status !== 200) return;
  placed.generation = String(JSON.parse(text).data.generation_id);
}

/** The newest badge is the one to revoke. */
function noteBadge({ operation }: FuzzRequest, { status, text }: FuzzAnswer): void {
  if (operation !== 'POST /api/badges' || status !== 201) return;
  placed.badge = String(JSON.parse(text).id);
}

/** The newest request for a run is the one to withdraw. */
function noteRunRequest({ operation }: FuzzRequest, { status, text }: FuzzAnswer): void {
  if (operation !== 'POST /api/run-requests' || status !== 201) return;
  placed.runRequest = String(JSON.parse(text).id);
}

async function makeReport(url: string, token: string): Promise<string> {
  const response = await fetch(`${url}/reports`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ report_type: 'latest_backup' }),
  });
  const { data } = (await response.json()) as { data: { id: string } };
  return data.id;
}
