import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import type { Caller } from '../../scripts/tables/access-table.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { createRepository } from '../support/git.ts';
import { freePorts } from '../support/local-start.ts';
import { type MailService, startMailService } from '../support/mail.ts';
import { ADA } from '../support/observatory-client.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { insertLog, insertResult, insertRun, insertSnapshot, sql } from '../support/records.ts';
import { type RunningScript, startScript } from '../support/script.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';
import { type Canary, makeCanary, plain } from './canaries.ts';
import { watchGit } from './watched-git.ts';
import { makeWays, OTHER, type Way } from './ways.ts';

/** `npm start` with a canary in every secret, and services that echo what they receive. */
export interface LeakWorld {
  server: { url: string };
  script: RunningScript;
  /** The configuration of the server and its commands. */
  environment: Record<string, string>;
  canaries: Canary[];
  /** The folder of the server: DATA_DIR, temporary files. */
  folder: string;
  database: TestDatabase;
  /** The database role of the server. */
  role: string;
  gateway: Gateway;
  mail: MailService;
  /** Stands in for Redis, the service API and the observatory: every response echoes the request. */
  echo: ScriptedServer;
  ways: Record<Caller, Way[]>;
  /** The arguments and the environment of every git process. */
  childProcesses(): Promise<string[]>;
  close(): Promise<void>;
}

export async function startLeakWorld(): Promise<LeakWorld> {
  const [database, gateway, mail, { path: folder, remove }] = await Promise.all([
    createPostgres(),
    startGateway(),
    startMailService(),
    temporaryFolder(),
  ]);
  for (const name of ['tmp', 'archives']) await mkdir(join(folder, name));
  const watched = await watchGit(folder);
  const echo = await startScriptedServer(({ headers, body }) => ({
    status: 500,
    headers: { 'Content-Type': 'application/json' },
    body: { error: `no: ${JSON.stringify(headers)} ${body}` },
  }));
  const canary = (name: string, wrap?: (core: string) => string) => {
    const made = makeCanary(name, wrap);
    canaries.push(made);
    return made.value;
  };
  const canaries: Canary[] = [];
  const password = canary('the password of the database');
  const role = `leaky_${randomBytes(8).toString('hex')}`;
  await sql(
    database.db,
    `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD '${password.replaceAll("'", "''")}'`,
  );
  const address = new URL(database.url);
  address.username = role;
  address.password = encodeURIComponent(password);
  const environment = {
    ...freePorts,
    DATABASE_URL: address.href,
    INTERNAL_SECRET: canary('INTERNAL_SECRET'),
    CRON_SECRET: canary('CRON_SECRET'),
    MCP_AUTH_TOKEN: canary('MCP_AUTH_TOKEN'),
    JWT_SECRET: canary('JWT_SECRET'),
    AUTH_USERNAME: ADA.username,
    AUTH_PASSWORD: canary('AUTH_PASSWORD'),
    CREDENTIALS_ENCRYPTION_KEY: canary('CREDENTIALS_ENCRYPTION_KEY', (core) =>
      Buffer.from(core.padStart(32, '-')).toString('base64'),
    ),
    GATEWAY_BASE_URL: gateway.url,
    GATEWAY_API_KEYS: `${canary('a gateway key', plain)},${canary('another gateway key', plain)}`,
    GATEWAY_MODEL: 'acme/chat-paid',
    ...(mail.environment as Record<string, string>),
    RESEND_API_KEY: canary('RESEND_API_KEY', plain),
    SMTP_PASSWORD: canary('SMTP_PASSWORD'),
    UPSTASH_REDIS_REST_URL: echo.url,
    UPSTASH_REDIS_REST_TOKEN: canary('UPSTASH_REDIS_REST_TOKEN', plain),
    OBSERVATORY_URL: echo.url,
    BACKEND_URL: echo.url,
    // Its responses echo the request, like those of a third-party server.
    ALERT_CHANNELS: `ntfy+http://${canary('ALERT_CHANNELS', plain)}@${new URL(echo.url).host}/topic`,
    GIT_TOKEN_PERSONAL: canary('GIT_TOKEN_PERSONAL', plain),
    GIT_TOKEN_PRIVATE: canary('GIT_TOKEN_PRIVATE', plain),
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'debug',
    BACKUP_ARCHIVE_PATH: join(folder, 'archives'),
    TMPDIR: join(folder, 'tmp'),
    PATH: watched.path,
  };
  gateway.issuedKey = canary('the gateway key of a user', plain);
  await fillWorld(database, folder);
  const script = startScript('start', { cwd: folder, env: environment });
  const [, url = ''] = await script.waitFor(/API +(http:\/\/\S+)\/api/);
  return {
    ...{
      server: { url },
      script,
      environment,
      canaries,
      folder,
      database,
      role,
      gateway,
      mail,
      echo,
    },
    ways: await makeWays({
      internal: environment.INTERNAL_SECRET,
      cron: environment.CRON_SECRET,
      mcp: environment.MCP_AUTH_TOKEN,
      signingKey: environment.JWT_SECRET,
      password: environment.AUTH_PASSWORD,
    }),
    childProcesses: watched.processes,
    async close() {
      script.child.kill();
      await script.finished;
      await Promise.all([gateway.close(), mail.close(), echo.close()]);
      await sql(database.db, `REASSIGN OWNED BY ${role} TO postgres`);
      await sql(database.db, `DROP ROLE ${role}`);
      await database.close();
      await remove();
    },
  };
}

async function fillWorld({ db }: TestDatabase, folder: string): Promise<void> {
  await addUser(db, OTHER, await hashPassword(`the password of ${OTHER}`, QUICK_COST));
  const run = await insertRun(db, { status: 'failed', total_repos: 1, failed: 1 });
  await insertResult(db, run, 'acme/widgets', { status: 'failed', error_message: 'no' });
  await insertLog(db, { run_id: run, level: 'error', message: 'could not clone acme/widgets' });
  await insertSnapshot(db, { run_id: run });
  const repository = await createRepository(join(folder, 'widgets'));
  await repository.commit({ 'README.md': '# Widgets\n' });
  const archive = join(folder, 'archives', 'acme__widgets.bundle');
  await repository.git('bundle', 'create', '--quiet', archive, '--all');
}
