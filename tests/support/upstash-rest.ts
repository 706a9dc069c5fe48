import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type RedisServer, startRedisServer } from './redis-server.ts';
import type { Reply } from './resp.ts';

const TOKEN = 'token-of-the-redis-bridge';

/**
 * How the bridge behaves: normally, with an error, or without ever answering; `lose` does what it is asked and then
 * answers with an error.
 */
export type BridgeMode = 'serve' | 'fail' | 'hang' | 'lose';

/** A real Redis behind the REST interface that the production client speaks. */
export interface UpstashRest {
  /** The variables that point a client here. */
  environment: { UPSTASH_REDIS_REST_URL: string; UPSTASH_REDIS_REST_TOKEN: string };
  mode: BridgeMode;
  /** How many HTTP requests have arrived. */
  requests: number;
  /** Sends a command directly to Redis. */
  send: RedisServer['send'];
  close(): Promise<void>;
}

/** Starts a Redis and its REST bridge: `POST /`, `/pipeline` and `/multi-exec`, bearer token, base64. */
export async function startUpstashRest(): Promise<UpstashRest> {
  const redis = await startRedisServer();
  const plain = { ...redis, send: sendScriptsPlain(redis.send) };
  const server = createServer((request, response) => {
    bridge.requests += 1;
    if (bridge.mode === 'hang') return;
    const down = { error: 'ERR the bridge is down' };
    if (bridge.mode === 'fail') return reply(response, 500, down);
    const isLost = bridge.mode === 'lose';
    answer(request, plain).then(
      ({ status, body }) => (isLost ? reply(response, 500, down) : reply(response, status, body)),
      (error: unknown) => reply(response, 500, { error: String(error) }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const bridge: UpstashRest = {
    environment: {
      UPSTASH_REDIS_REST_URL: `http://127.0.0.1:${port}`,
      UPSTASH_REDIS_REST_TOKEN: TOKEN,
    },
    mode: 'serve',
    requests: 0,
    send: redis.send,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await redis.close();
    },
  };
  return bridge;
}

/** The flag of scripts that only this service's Redis knows; a plain one refuses such scripts. */
const OWN_FLAG = /^#!lua flags=allow-key-locking/;

/** Sends scripts without that flag, and finds them by the digest that the client knows. */
function sendScriptsPlain(send: RedisServer['send']): RedisServer['send'] {
  const digests = new Map<string, string>();
  return (command) => {
    const [name, script, ...rest] = command.map(String);
    if (name?.toLowerCase() === 'evalsha') {
      return send([name, digests.get(script ?? '') ?? script, ...rest]);
    }
    if (name?.toLowerCase() !== 'eval' || script === undefined) return send(command);
    const plain = script.replace(OWN_FLAG, '#!lua');
    digests.set(sha1(script), sha1(plain));
    return send([name, plain, ...rest]);
  };
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

async function answer(request: IncomingMessage, redis: RedisServer) {
  if (request.headers.authorization !== `Bearer ${TOKEN}`) {
    return { status: 401, body: { error: 'WRONGPASS invalid token' } };
  }
  const base64 = request.headers['upstash-encoding'] === 'base64';
  const body = (await json(request)) as unknown[];
  if (request.url === '/') {
    const result = present(await redis.send(body), base64);
    return { status: 'error' in result ? 400 : 200, body: result };
  }
  const commands = body as unknown[][];
  if (request.url === '/pipeline') {
    const replies = await Promise.all(commands.map((command) => redis.send(command)));
    return { status: 200, body: replies.map((item) => present(item, base64)) };
  }
  if (request.url === '/multi-exec') {
    const sent = [['MULTI'], ...commands, ['EXEC']].map((command) => redis.send(command));
    const replies = (await Promise.all(sent)).at(-1);
    if (!Array.isArray(replies)) return { status: 400, body: { error: String(replies) } };
    return { status: 200, body: replies.map((item) => present(item, base64)) };
  }
  return { status: 404, body: { error: 'no such path' } };
}

function present(result: Reply, base64: boolean): { result: unknown } | { error: string } {
  if (result instanceof Error) return { error: result.message };
  return { result: base64 ? encode(result) : result };
}

function encode(result: Reply): unknown {
  if (Array.isArray(result)) return result.map(encode);
  if (typeof result !== 'string' || result === 'OK') return result;
  return Buffer.from(result).toString('base64');
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
