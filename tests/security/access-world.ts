import { hashPassword } from '../../lib/platform/password.ts';
import { addUser } from '../../lib/records/users.ts';
import type { Caller } from '../../scripts/access-table.ts';
import { type LocalServer, startLocalServer } from '../../scripts/local-server.ts';
import { chatEnvironment } from '../support/chat.ts';
import { createTestClock } from '../support/clock.ts';
import { createEmbedded, type TestDatabase } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { temporaryFolder } from '../support/git.ts';
import { type MailService, startMailService } from '../support/mail.ts';
import { TEST_TOKEN } from '../support/mcp.ts';
import {
  ADA,
  observatoryEnvironment,
  signToken,
  TEST_JWT_SECRET,
} from '../support/observatory-client.ts';
import { insertLog, insertResult, insertRun, insertSnapshot } from '../support/records.ts';

export const CRON_SECRET = 'a-secret-of-the-cron-of-tests-0123456789';
export const OTHER = 'grace';

/** The whole server as `npm start` runs it, with data, two users and stand-ins of what it calls. */
export interface AccessWorld {
  server: LocalServer;
  database: TestDatabase;
  gateway: Gateway;
  mail: MailService;
  /** Every way in which a caller may present what it has, each as headers. */
  ways: Record<Caller, Way[]>;
  close(): Promise<void>;
}

/** A credential at one place of a request. */
export interface Way {
  name: string;
  headers: Record<string, string>;
  /** Added to the query. */
  query?: Record<string, string>;
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const asSecret = (secret: string) => ({ 'X-Internal-Secret': secret });

export async function startAccessWorld(): Promise<AccessWorld> {
  const [database, gateway, mail, archives] = await Promise.all([
    createEmbedded(),
    startGateway(),
    startMailService(),
    temporaryFolder(),
  ]);
  const { db } = database;
  await addUser(db, OTHER, await hashPassword(`the password of ${OTHER}`));
  const run = await insertRun(db, { status: 'completed', total_repos: 1 });
  await insertResult(db, run, 'ada/app', { status: 'completed' });
  await insertLog(db, { run_id: run, level: 'info', message: 'cloned ada/app' });
  await insertSnapshot(db, { run_id: run });
  const server = await startLocalServer({
    ...observatoryEnvironment,
    ...chatEnvironment(gateway),
    ...mail.environment,
    DATABASE_URL: database.url,
    BACKUP_ARCHIVE_PATH: archives.path,
    INTERNAL_SECRET: TEST_SECRET,
    CRON_SECRET,
    MCP_AUTH_TOKEN: TEST_TOKEN,
    PATH: process.env.PATH,
    PORT: '0',
    LOG_LEVEL: 'error',
    // So that each request has an address of its own: no limit of the rate gets in the way.
    TRUSTED_PROXIES: '127.0.0.1',
  });
  return {
    server,
    database,
    gateway,
    mail,
    ways: await makeWays(),
    async close() {
      await server.close();
      await Promise.all([gateway.close(), mail.close(), database.close(), archives.remove()]);
    },
  };
}

async function makeWays(): Promise<Record<Caller, Way[]>> {
  const clock = { clock: createTestClock(Date.now()) };
  const now = Math.floor(Date.now() / 1000);
  const [user, other, expired, foreign] = await Promise.all([
    signToken(clock, ADA.username),
    signToken(clock, OTHER),
    signToken(clock, ADA.username, { claims: { iat: now - 7200, exp: now - 3600 } }),
    signToken(clock, ADA.username, { secret: 'another key of forty letters, not ours 00' }),
  ]);
  const all = [TEST_SECRET, CRON_SECRET, TEST_TOKEN, user];
  return {
    nobody: [
      { name: 'nothing', headers: {} },
      { name: 'empty headers', headers: { Authorization: '', 'X-Internal-Secret': '' } },
      {
        name: 'the secrets in the address',
        headers: {},
        query: { secret: TEST_SECRET, access_token: user, token: TEST_TOKEN, key: CRON_SECRET },
      },
      {
        name: 'the secrets in cookies',
        headers: { Cookie: `token=${user}; access_token=${user}; secret=${TEST_SECRET}` },
      },
      ...all.map((value, index) => ({
        name: `secret ${index} as Basic`,
        headers: { Authorization: `Basic ${btoa(`${value}:${value}`)}` },
      })),
      ...all.map((value, index) => ({
        name: `secret ${index} without a scheme`,
        headers: { Authorization: value },
      })),
    ],
    wrong: [
      { name: 'another text as both', headers: { ...bearer('wrong'), ...asSecret('wrong') } },
      { name: 'the secret without its end', headers: asSecret(TEST_SECRET.slice(0, -1)) },
      { name: 'more than the secret', headers: { ...asSecret(`${TEST_SECRET}0`) } },
      { name: 'the token without its end', headers: bearer(TEST_TOKEN.slice(0, -1)) },
      { name: 'a token of another key', headers: bearer(foreign) },
      { name: 'an unsigned token', headers: bearer(unsign(user)) },
      { name: 'a token whose signature is cut', headers: bearer(user.slice(0, -1)) },
      { name: 'CRON_SECRET as X-Internal-Secret', headers: asSecret(CRON_SECRET) },
      { name: 'MCP_AUTH_TOKEN as X-Internal-Secret', headers: asSecret(TEST_TOKEN) },
      { name: 'a user token as X-Internal-Secret', headers: asSecret(user) },
      { name: 'the signing key', headers: bearer(TEST_JWT_SECRET) },
      { name: 'the password', headers: bearer(ADA.password) },
      { name: 'a key of the gateway', headers: bearer('server-key-number-1') },
    ],
    expired: [{ name: 'an expired token', headers: bearer(expired) }],
    internal: [
      { name: 'the secret', headers: asSecret(TEST_SECRET) },
      { name: 'the secret as bearer', headers: bearer(TEST_SECRET) },
    ],
    cron: [{ name: 'CRON_SECRET', headers: bearer(CRON_SECRET) }],
    mcp: [{ name: 'MCP_AUTH_TOKEN', headers: bearer(TEST_TOKEN) }],
    other: [{ name: "another user's token", headers: bearer(other) }],
    user: [{ name: "the user's token", headers: bearer(user) }],
  };
}

function unsign(token: string): string {
  const header = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  return `${header}.${token.split('.')[1]}.`;
}
