import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../lib/database/database.ts';
import { embeddedUrl } from '../../../lib/database/embedded/address.ts';
import { openDatabase } from '../../../lib/database/open.ts';
import { hashPassword } from '../../../lib/security/password.ts';
import { addUser } from '../../../lib/users/users.ts';
import { chatEnvironment } from '../../support/chat.ts';
import { silentLog } from '../../support/databases.ts';
import { TEST_SECRET } from '../../support/deps.ts';
import { createPostgresWithVectors } from '../../support/embeddings.ts';
import { type Fault, type FaultProxy, faults, startFaultProxy } from '../../support/fault-proxy.ts';
import { startGateway } from '../../support/gateway.ts';
import { startMailService } from '../../support/mail.ts';
import { TEST_TOKEN } from '../../support/mcp.ts';
import { NEON_HOST, startNeonEndpoint } from '../../support/neon-http.ts';
import { ADA, observatoryEnvironment } from '../../support/observatory-client.ts';
import { insertLog, insertResult, insertRun } from '../../support/records.ts';
import { startUpstashRest } from '../../support/upstash-rest.ts';
import { serveChatModel } from './chat-model.ts';
import type { Ground } from './surface.ts';
import { startWatched, type WatchedServer } from './watched-server.ts';

/** The parts that a server depends on. */
export const serverParts = ['postgres', 'neon', 'redis', 'gateway', 'mail'] as const;
export type ServerPart = (typeof serverParts)[number];

/** `npm start` with one part behind a proxy. */
export interface ServerWorld {
  server: WatchedServer;
  proxy: FaultProxy;
  /** `round` distinguishes what is stored in one round from what is stored in another. */
  groundFor(fault: Fault, round?: string): Ground;
  /** Ends everything. Resolves with the server's exit code, or null when it did not end by itself. */
  close(): Promise<number | null>;
}

const GRACE = { username: 'grace', password: 'the password of grace' };

/** Seconds after which a server gives up a request to a broken gateway, instead of 30. */
const GATEWAY_TIMEOUT_SECONDS = 2;

/** Starts everything with real parts, except for the stand-ins for the gateway, mail and Neon's endpoint. */
export async function startServerWorld(part: ServerPart): Promise<ServerWorld> {
  const closing: (() => Promise<unknown>)[] = [];
  const [gateway, mail] = await Promise.all([startGateway(), startMailService()]);
  closing.push(gateway.close, mail.close);
  const addresses: Record<string, string> = {};
  let proxy: FaultProxy | null = null;
  const behindProxy = async (address: string) => {
    const { hostname, port } = new URL(address);
    proxy = await startFaultProxy(hostname, Number(port));
    closing.push(proxy.close);
    const url = new URL(address);
    url.host = proxy.host;
    return url.href;
  };

  let db: Database;
  if (part === 'gateway') {
    // The only database with the vector extension, and therefore with a search that uses the gateway.
    const dataDir = await mkdtemp(join(tmpdir(), 'faults-'));
    closing.push(() => rm(dataDir, { recursive: true, force: true }));
    addresses.DATA_DIR = dataDir;
    const url = embeddedUrl(dataDir);
    db = await openDatabase({ url, fetch, log: silentLog, maxConnections: 2 });
    closing.push(db.close);
  } else {
    const database = await createPostgresWithVectors();
    closing.push(database.close);
    db = database.db;
    addresses.DATABASE_URL = database.url;
    if (part === 'postgres') addresses.DATABASE_URL = await behindProxy(database.url);
    if (part === 'neon') {
      const endpoint = await startNeonEndpoint(database.url);
      closing.push(endpoint.close);
      addresses.NEON_STAND_IN = await behindProxy(endpoint.url);
      const { username, password, pathname } = new URL(database.url);
      addresses.DATABASE_URL = `postgres://${username}:${password}@${NEON_HOST}${pathname}?sslmode=require`;
    }
  }
  if (part === 'redis') {
    const redis = await startUpstashRest();
    closing.push(redis.close);
    Object.assign(addresses, redis.environment);
    addresses.UPSTASH_REDIS_REST_URL = await behindProxy(redis.environment.UPSTASH_REDIS_REST_URL);
  }
  if (part === 'gateway') addresses.GATEWAY_BASE_URL = await behindProxy(gateway.url);
  if (part === 'mail') addresses.RESEND_BASE_URL = (await behindProxy(mail.url)).replace(/\/$/, '');

  const server = await startWatched({
    INTERNAL_SECRET: TEST_SECRET,
    MCP_AUTH_TOKEN: TEST_TOKEN,
    LOG_LEVEL: 'warn',
    TRUSTED_PROXIES: '127.0.0.1',
    MCP_MAX_CALLS_PER_MINUTE: '1000000',
    USER_MAX_REQUESTS_PER_MINUTE: '1000000',
    REPORTS_ACCEPT_INTERNAL: 'true',
    HITL_POLL_INTERVAL_SECONDS: '0.2',
    ...(part === 'gateway'
      ? { GATEWAY_REQUEST_TIMEOUT_SECONDS: String(GATEWAY_TIMEOUT_SECONDS) }
      : {}),
    ...(observatoryEnvironment as Record<string, string>),
    ...(mail.environment as Record<string, string>),
    ...chatEnvironment(gateway),
    ...addresses,
  });
  if (proxy === null) throw new Error('no part is behind the proxy');
  const own: FaultProxy = proxy;
  const embeddingModel = part === 'gateway' ? 'acme/embed-free' : 'local/hashing-384';
  await fill(db);
  const tokens = { ada: await logIn(server.url, ADA), grace: await logIn(server.url, GRACE) };
  if (part === 'gateway') await activate(server.url, tokens.ada, embeddingModel);
  const chat = serveChatModel(gateway);
  return {
    server,
    proxy: own,
    groundFor: (fault, round = '') => ({
      ...{ url: server.url, db, mail, chat, tokens, embeddingModel },
      address: { 'X-Forwarded-For': `192.0.2.${faults.indexOf(fault) + 1}` },
      // Without the name of the part: `postgres` is the password of its database, and is redacted.
      label: `${fault}${round}-${serverParts.indexOf(part)}`,
    }),
    async close() {
      const code = await server.stop();
      for (const close of closing.reverse()) await close();
      return code;
    },
  };
}

/** Adds something that every list and every search finds. */
async function fill(db: Database): Promise<void> {
  await addUser(db, GRACE.username, await hashPassword(GRACE.password));
  const run = await insertRun(db, { status: 'completed', total_repos: 1, failed: 1 });
  const error_message = 'the clone of acme/widgets failed';
  await insertResult(db, run, 'acme/widgets', { status: 'failed', error_message });
  for (const message of ['clone begins', 'clone ends', 'the disk is full']) {
    await insertLog(db, { run_id: run, level: 'error', message, repository: 'acme/widgets' });
  }
}

async function logIn(url: string, user: typeof GRACE): Promise<string> {
  const body = new URLSearchParams(user);
  const response = await fetch(`${url}/auth/login`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`the login answered ${response.status}`);
  return token;
}

/** Makes a model of the gateway embed everything, so that each search uses the gateway. */
async function activate(url: string, token: string, model: string): Promise<void> {
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${url}/observatory/embeddings/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { data } = (await response.json()) as { data?: { generation_id: number } };
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return data?.generation_id;
  };
  const id = await post('switch-model', { model_id: model });
  await post('process-batch', { generation_id: id, batch_size: 500, max_batches: 50 });
  await post(`activate?generation_id=${id}`, {});
}
