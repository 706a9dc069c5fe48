import { startLocalServer } from '../../scripts/local-server.ts';
import { buildPageWhenStale } from '../../scripts/page/build-page.ts';
import { type BuiltPlatform, startBuiltPlatform } from '../support/built-platform.ts';
import { chatEnvironment } from '../support/chat.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { TEST_TOKEN } from '../support/mcp.ts';
import { ADA, observatoryEnvironment } from '../support/observatory-client.ts';
import { insertLog, insertResult, insertRun, insertSnapshot } from '../support/records.ts';
import { startUpstashRest } from '../support/upstash-rest.ts';

export const CRON_SECRET = 'a-secret-of-the-cron-of-tests-0123456789';

/** A server with its own database and Redis. */
export interface Side {
  url: string;
  database: TestDatabase;
  /** A token of the user ada. */
  token: string;
}

/** The built functions and the server of `npm start`, with the same data. */
export interface TwoServers {
  built: Side;
  local: Side;
  gateway: Gateway;
  platform: BuiltPlatform;
  /** Resets the rate limits of both, so that they do not interfere. */
  forgetClients(): Promise<unknown>;
  close(): Promise<void>;
}

/** Starts both servers. The built functions come from a folder in the format of the Build Output API. */
export async function startTwoServers(output: string): Promise<TwoServers> {
  const [gateway, archives, databases, redis] = await Promise.all([
    startGateway(),
    temporaryFolder(),
    Promise.all([createSeeded(), createSeeded()]),
    Promise.all([startUpstashRest(), startUpstashRest()]),
  ]);
  const environment = (side: 0 | 1, url: string) => ({
    ...observatoryEnvironment,
    ...chatEnvironment(gateway),
    ...redis[side].environment,
    DATABASE_URL: databases[side].url,
    BACKUP_ARCHIVE_PATH: archives.path,
    INTERNAL_SECRET: TEST_SECRET,
    CRON_SECRET,
    MCP_AUTH_TOKEN: TEST_TOKEN,
    LOG_LEVEL: 'error',
    ...(url === '' ? {} : { BACKEND_URL: url }),
  });
  const platform = await startBuiltPlatform(
    output,
    (url) => environment(0, url) as Record<string, string>,
  );
  await buildPageWhenStale(() => undefined);
  const server = await startLocalServer({ ...environment(1, ''), PORT: '0' });
  return {
    built: { url: platform.url, database: databases[0], token: await logIn(platform.url) },
    local: { url: server.url, database: databases[1], token: await logIn(server.url) },
    gateway,
    platform,
    forgetClients: () => Promise.all(redis.map(({ send }) => send(['FLUSHALL']))),
    async close() {
      await Promise.all([platform.close(), server.close()]);
      await Promise.all([...databases, ...redis, gateway].map((part) => part.close()));
      await archives.remove();
    },
  };
}

/** A database that always has the same rows, including timestamps. */
async function createSeeded(): Promise<TestDatabase> {
  const database = await createPostgres();
  const { db } = database;
  const at = (minute: number) => `2026-11-20T10:${String(minute).padStart(2, '0')}:00Z`;
  for (const [index, status] of ['completed', 'completed', 'failed'].entries()) {
    const started_at = at(index * 10);
    const run = await insertRun(db, {
      ...{ status, started_at, completed_at: at(index * 10 + 5), duration_ms: 300_000 },
      ...{ total_repos: 2, successful: 1, failed: 1 },
    });
    for (const [name, outcome] of [
      ['ada/app', 'completed'],
      ['ada/tool', 'failed'],
    ] as const) {
      await insertResult(db, run, name, { status: outcome, created_at: started_at });
      await insertLog(db, {
        ...{ run_id: run, level: 'error', repository: name, created_at: started_at },
        message: `cloning ${name} ended`,
      });
    }
    await insertSnapshot(db, { run_id: run, captured_at: started_at });
  }
  return database;
}

async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/auth/login`, {
    method: 'POST',
    body: new URLSearchParams(ADA),
  });
  const { access_token } = (await response.json()) as { access_token: string };
  return access_token;
}
