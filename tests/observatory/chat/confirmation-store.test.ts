import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chatVariables } from '../../../lib/config/chat.ts';
import { readConfig } from '../../../lib/config/read.ts';
import { redisVariables } from '../../../lib/config/redis.ts';
import type {
  ConfirmationClaim,
  ConfirmationStore,
} from '../../../lib/observatory/base/confirmation-store.ts';
import { createConfirmationStore } from '../../../lib/observatory/base/confirmation-store.ts';
import { openRedis } from '../../../lib/rate-limits/redis.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { hasRedisServer } from '../../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../../support/upstash-rest.ts';

// What an approval allows, even if a process presents the wrong id, tool or arguments: one run of one tool with
// the arguments that were shown.

const stores = [
  ['in the process', false],
  ['in Redis', true],
] as const;

describe.each(stores)('a confirmation stored %s', (_name, inRedis) => {
  let rest: UpstashRest | null = null;
  let clock: TestClock;
  let store: ConfirmationStore;
  let claim: ConfirmationClaim;
  beforeAll(async () => {
    if (inRedis && hasRedisServer) rest = await startUpstashRest();
  });
  afterAll(() => rest?.close());
  beforeEach(async () => {
    clock = createTestClock();
    const redis = rest === null ? null : openRedis(readConfig(redisVariables, rest.environment));
    store = createConfirmationStore(redis, clock, readConfig(chatVariables, {}));
    claim = { id: randomUUID(), tool: 'send_report_email', argsHash: 'a', claimant: 'the turn' };
    const expiresAt = clock.now() + 120_000;
    await store.add({ ...claim, username: 'ada', expiresAt });
  });
  const test = inRedis && !hasRedisServer ? it.skip : it;

  test('goes to the first claimant once approved, and only to that one again', async () => {
    expect(await store.claim(claim)).toBe('pending');
    expect(await store.decide(claim.id, 'ada', 'approved')).toBe(true);
    expect(await store.claim(claim)).toBe('approved');
    expect(await store.claim({ ...claim, claimant: 'another' })).toBe('expired');
    expect(await store.claim(claim)).toBe('approved');
  });

  test.each([
    ['another tool', { tool: 'another' }],
    ['other arguments', { argsHash: 'b' }],
    ['an unknown id', { id: randomUUID() }],
  ])('is expired for a claim with %s, although approved', async (_what, other) => {
    await store.decide(claim.id, 'ada', 'approved');
    expect(await store.claim({ ...claim, ...other })).toBe('expired');
    expect(await store.claim(claim)).toBe('approved');
  });

  test.each(['approved', 'rejected'] as const)('stays %s once decided', async (first) => {
    expect(await store.decide(claim.id, 'grace', 'approved')).toBeNull();
    expect(await store.decide(claim.id, 'ada', first)).toBe(true);
    for (const next of ['approved', 'rejected'] as const) {
      expect(await store.decide(claim.id, 'ada', next)).toBe(false);
    }
    await store.expire(claim.id);
    expect(await store.claim(claim)).toBe(first);
  });

  test('cannot be decided after it expires', async () => {
    clock.advance(120_000);
    expect(await store.decide(claim.id, 'ada', 'approved')).toBe(false);
    expect(await store.claim(claim)).toBe('expired');
  });
});
