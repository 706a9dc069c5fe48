import { readFileSync } from 'node:fs';
import { request as sendRequest } from 'node:http';
import {
  Miniflare,
  type Request as MiniflareRequest,
  Response as MiniflareResponse,
} from 'miniflare';
import { bundleIsolate } from '../../scripts/build/isolate-bundle.ts';
import { createPostgres, type TestDatabase } from './databases.ts';
import { TEST_SECRET } from './deps.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { TEST_TOKEN } from './mcp.ts';
import { type NeonEndpoint, neonUrl, startNeonEndpoint } from './neon-http.ts';
import { observatoryEnvironment } from './observatory-client.ts';
import { startUpstashRest, type UpstashRest } from './upstash-rest.ts';

/** The content of `wrangler.jsonc` in docs/deploy.md. */
function readConfiguration(): { compatibility_date: string; compatibility_flags: string[] } {
  const [, json] =
    /```json\n(\{[^`]*"dist\/isolate\.js"[^`]*)```/.exec(readFileSync('docs/deploy.md', 'utf8')) ??
    [];
  if (json === undefined) throw new Error('docs/deploy.md does not say how to configure a Worker');
  return JSON.parse(json);
}

/** All surfaces in workerd, with a database behind Neon's HTTP driver and Redis behind its REST interface. */
export interface Workerd {
  /** Its address, without a slash at the end. */
  url: string;
  database: TestDatabase;
  neon: NeonEndpoint;
  redis: UpstashRest;
  gateway: Gateway;
  /** The log records that workerd wrote. */
  logged: Record<string, unknown>[];
  /** The distinct hosts to which workerd sent requests. */
  asked: Set<string>;
  close(): Promise<void>;
}

/**
 * Starts the built module. Nothing leaves the machine: its requests go to the stand-ins. The database, which is closed
 * with it, is by default a Postgres without the vector extension.
 */
export async function startWorkerd(
  environment: Record<string, string> = {},
  given?: TestDatabase,
): Promise<Workerd> {
  const database = given ?? (await createPostgres());
  const neon = await startNeonEndpoint(database.url);
  const redis = await startUpstashRest();
  const gateway = await startGateway();
  const logged: Workerd['logged'] = [];
  const asked: Workerd['asked'] = new Set();
  const configuration = readConfiguration();
  const miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'isolate.js', contents: await bundleIsolate() }],
    compatibilityDate: configuration.compatibility_date,
    compatibilityFlags: configuration.compatibility_flags,
    // Bypasses the library's proxy, which does not forward disconnects.
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
    bindings: {
      ...observatoryEnvironment,
      ...redis.environment,
      DATABASE_URL: neonUrl(database.url),
      INTERNAL_SECRET: TEST_SECRET,
      MCP_AUTH_TOKEN: TEST_TOKEN,
      GATEWAY_BASE_URL: gateway.url,
      LOG_LEVEL: 'warn',
      ...environment,
    },
    async outboundService(request: MiniflareRequest) {
      const { url, method, headers } = request;
      asked.add(new URL(url).host);
      const send = new URL(url).host.endsWith('.neon.tech') ? neon.fetch : fetch;
      const body = method === 'GET' ? null : await request.arrayBuffer();
      const answer = await send(url, { method, headers: [...headers], body });
      // The response is already decompressed.
      const given = [...answer.headers].filter(([name]) => name !== 'content-encoding');
      return new MiniflareResponse(answer.body as never, { status: answer.status, headers: given });
    },
    handleStructuredLogs({ message }: { message: string }) {
      // The runtime also prints lines of its own.
      if (message.startsWith('{')) logged.push(JSON.parse(message));
    },
  });
  await miniflare.ready;
  const url = (await miniflare.unsafeGetDirectURL()).origin;
  return {
    ...{ url, database, neon, redis, gateway, logged, asked },
    async close() {
      await miniflare.dispose();
      await gateway.close();
      await redis.close();
      await neon.close();
      await database.close();
    },
  };
}

/** Sends a request whose client can leave by a reset, which the runtime sees at once. */
export function sendAndLeave(
  url: string,
  options: { method?: string; headers: Record<string, string>; body?: string },
): { leave(): void } {
  const { body, ...rest } = options;
  const request = sendRequest(url, rest);
  request.on('error', () => undefined); // it is ended by us
  request.end(body);
  return {
    leave() {
      request.socket?.resetAndDestroy();
    },
  };
}
