import { join } from 'node:path';
import { openSigner } from '../../lib/drills/signing-key.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { type LocalServer, startLocalServer } from '../../scripts/local-server.ts';
import type { Caller } from '../../scripts/tables/access-table.ts';
import { chatEnvironment } from '../support/chat.ts';
import { createEmbedded, type TestDatabase } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { someDrill } from '../support/drills.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { createRepository } from '../support/git.ts';
import { type MailService, startMailService } from '../support/mail.ts';
import { TEST_TOKEN } from '../support/mcp.ts';
import { ADA, observatoryEnvironment, TEST_JWT_SECRET } from '../support/observatory-client.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { insertLog, insertResult, insertRun, insertSnapshot } from '../support/records.ts';
import { makeWays, OTHER, type Way } from './ways.ts';

const CRON_SECRET = 'a-secret-of-the-cron-of-tests-0123456789';

/** The whole server as run by `npm start`, with data, two users and stand-ins of external services. */
export interface AccessWorld {
  server: Pick<LocalServer, 'url' | 'close'>;
  database: TestDatabase;
  gateway: Gateway;
  mail: MailService;
  /** Every way in which a caller can send its credential, as headers. */
  ways: Record<Caller, Way[]>;
  close(): Promise<void>;
}

export async function startAccessWorld(): Promise<AccessWorld> {
  const [database, gateway, mail, archives, data] = await Promise.all([
    createEmbedded(),
    startGateway(),
    startMailService(),
    temporaryFolder(),
    temporaryFolder(),
  ]);
  const { db } = database;
  await addUser(db, OTHER, await hashPassword(`the password of ${OTHER}`, QUICK_COST));
  const run = await insertRun(db, { status: 'completed', total_repos: 1 });
  await insertResult(db, run, 'ada/app', { status: 'completed' });
  const secret = observatoryEnvironment.CREDENTIALS_ENCRYPTION_KEY;
  await openSigner(db, secret);
  await recordDrill(db, someDrill(), null);
  const text = "INSERT INTO archive_versions (repo_full_name, version) VALUES ('ada/app', 1)";
  await db.query({ text });
  await insertLog(db, { run_id: run, level: 'info', message: 'cloned ada/app' });
  await insertSnapshot(db, { run_id: run });
  const anomaly =
    "INSERT INTO anomalies (repo_full_name, version, kind) VALUES ('ada/app', 1, 'emptied')";
  await db.query({ text: anomaly });
  await db.query({ text: "INSERT INTO incidents (rule) VALUES ('run_failed')" });
  const restored = `INSERT INTO restores (repo_full_name, kind, target, requested_by, server, status, ended_at)
    VALUES ('ada/app', 'folder', '/restored/app', 'ada', 'a machine', 'done', now())`;
  await db.query({ text: restored });
  const repository = await createRepository(join(archives.path, 'app'));
  await repository.commit({ 'a.txt': 'a' });
  await repository.git('bundle', 'create', '--quiet', '../ada__app.bundle', '--all');
  const server = await startLocalServer(
    {
      ...observatoryEnvironment,
      ...chatEnvironment(gateway),
      ...mail.environment,
      DATABASE_URL: database.url,
      DATA_DIR: data.path,
      BACKUP_ARCHIVE_PATH: archives.path,
      INTERNAL_SECRET: TEST_SECRET,
      CRON_SECRET,
      MCP_AUTH_TOKEN: TEST_TOKEN,
      // Counted by token or user, whatever the address.
      MCP_MAX_CALLS_PER_MINUTE: '100000',
      USER_MAX_REQUESTS_PER_MINUTE: '100000',
      PATH: process.env.PATH,
      PORT: '0',
      LOG_LEVEL: 'error',
      // Lets each request have its own address, so that no rate limit is reached.
      TRUSTED_PROXIES: '127.0.0.1',
    },
    { passwordCost: QUICK_COST },
  );
  return {
    server,
    database,
    gateway,
    mail,
    ways: await makeWays({
      internal: TEST_SECRET,
      cron: CRON_SECRET,
      mcp: TEST_TOKEN,
      signingKey: TEST_JWT_SECRET,
      password: ADA.password,
    }),
    async close() {
      await server.close();
      await Promise.all([gateway.close(), mail.close(), database.close()]);
      await Promise.all([archives.remove(), data.remove()]);
    },
  };
}
