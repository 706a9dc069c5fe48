import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { useDatabase } from '../support/hooks.ts';
import { type LiveServer, requestOf, startLive } from '../support/live.ts';
import { ADA, observatoryEnvironment, signToken } from '../support/observatory-client.ts';
import { connectRaw, type RawClient } from '../support/raw-client.ts';

const database = useDatabase();
let server: LiveServer;

beforeAll(async () => {
  server = await startLive({ db: database.db, environment: observatoryEnvironment });
});
afterAll(() => server.close());

async function openStream(token: string): Promise<{ status: number; client: RawClient }> {
  const client = await connectRaw(server.port);
  client.send(requestOf('/api/logs/stream', { Authorization: `Bearer ${token}` }));
  const head = await client.until(/\r\n\r\n/);
  return { status: Number(head.slice(9, 12)), client };
}

it('a user can open at most 20 log streams at a time, and another once one is closed', async () => {
  const token = await signToken(server.deps, ADA.username);
  const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(token)));
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
  expect((await openStream(token)).status).toBe(429);
  streams[0]?.client.socket.destroy();
  await vi.waitFor(async () => expect((await openStream(token)).status).toBe(200));
});
