import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { isNeonHost, openDatabase } from '../../lib/database/open.ts';
import { silentLog } from '../support/databases.ts';
import { NEON_HOST, type NeonEndpoint, startNeonEndpoint } from '../support/neon-http.ts';

const unavailable = { code: 'SERVICE_UNAVAILABLE', headers: { 'Retry-After': '5' } };
const one = { text: 'SELECT 1 AS one' };

let endpoint: NeonEndpoint;
beforeAll(async () => {
  endpoint = await startNeonEndpoint(inject('postgresUrl'));
});
afterAll(() => endpoint.close());

function open(send: typeof fetch, login = 'postgres:postgres'): Promise<Database> {
  const url = `postgres://${login}@${NEON_HOST}/postgres?sslmode=require`;
  return openDatabase({ url, fetch: send, log: silentLog });
}

describe('the Neon driver', () => {
  it('is used only for Neon hosts', async () => {
    expect((await open(endpoint.fetch)).driver).toBe('neon');
    expect(isNeonHost('neon.tech.example.com')).toBe(false);
    expect(isNeonHost('notneon.tech')).toBe(false);
  });

  it('sends each request through its own fetch', async () => {
    const calls: string[] = [];
    const counted = (name: string): typeof fetch => {
      return (input, init) => {
        calls.push(name);
        return endpoint.fetch(input, init);
      };
    };
    const [first, second] = [await open(counted('first')), await open(counted('second'))];
    await first.query(one);
    await second.query(one);
    expect(calls).toEqual(['first', 'second']);
  });

  it('counts requests in flight', async () => {
    const database = await open(endpoint.fetch);
    const running = database.query(one);
    expect(database.poolStats()).toEqual({ total: 1, idle: 0, waiting: 0 });
    await running;
    expect(database.poolStats()).toEqual({ total: 0, idle: 0, waiting: 0 });
  });

  it('throws SERVICE_UNAVAILABLE if the endpoint is unreachable', async () => {
    const database = await open(() => Promise.reject(new TypeError('fetch failed')));
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });

  it('throws SERVICE_UNAVAILABLE if the response is a web page', async () => {
    const page = new Response('<title>Sign in</title>', {
      headers: { 'Content-Type': 'text/html' },
    });
    const database = await open(async () => page);
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });

  it('throws SERVICE_UNAVAILABLE if the response is cut off', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Length': '1000' }).write('{"fields": [', () => {
        response.destroy();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const database = await open((_input, init) => fetch(`http://127.0.0.1:${port}/sql`, init));
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
    server.close();
  });

  it('throws SERVICE_UNAVAILABLE for a wrong password', async () => {
    const database = await open(endpoint.fetch, 'postgres:wrong');
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });

  it.each([
    { status: 500, body: 'internal error' },
    { status: 402, body: '{"message":"Your project has exceeded the compute time quota."}' },
    { status: 400, body: '{"message":"The endpoint has been disabled.","code":null}' },
    { status: 400, body: '{"message":"Couldn\'t connect to compute node","code":"XX000"}' },
  ])('throws SERVICE_UNAVAILABLE if the proxy answers $status $body', async (failure) => {
    const database = await open(endpoint.fetch);
    endpoint.failWith(failure);
    try {
      await expect(database.query(one)).rejects.toMatchObject(unavailable);
    } finally {
      endpoint.failWith(null);
    }
    expect(await database.query(one)).toEqual([{ one: 1 }]);
  });
});
