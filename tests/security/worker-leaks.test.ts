import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { secretNames } from '../../lib/config/secrets.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { createHostedWorker, type HostedWorker } from '../support/hosted-worker.ts';
import { rowsOf } from '../support/worker.ts';
import { type Canary, findCanaries, findInFiles, makeCanary, plain } from './canaries.ts';
import { type WatchedGit, watchGit } from './watched-git.ts';

// Runs the worker with a canary in every secret variable and token, against a host that echoes requests, and then
// searches everything that the runs left for canaries.

let database: TestDatabase;
let bench: HostedWorker;
let watched: WatchedGit;
/** The canaries of the variables. */
const planted: Canary[] = [];
/** The tokens that the host accepts. */
const tokens: Canary[] = [];
let written = '';
let store: RepeatingStore;

interface RepeatingStore {
  address: string;
  endpoint: string;
  close(): void;
}

/** An S3 store that rejects everything and echoes requests. */
async function startRepeatingStore(): Promise<RepeatingStore> {
  const server = createServer(({ headers }, response) => {
    const said = `it was sent ${headers['x-amz-security-token'] ?? headers.authorization}`;
    response.writeHead(403, { 'Content-Type': 'application/xml' });
    response.end(`<Error><Code>AccessDenied</Code><Message>${said}</Message></Error>`);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  return { address: 's3://backups/git', endpoint, close: () => server.close() };
}

beforeAll(async () => {
  store = await startRepeatingStore();
  [database, bench] = await Promise.all([createPostgres(), createHostedWorker()]);
  watched = await watchGit(bench.folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  store.close();
  await Promise.all([database.close(), bench.close()]);
});

/** A token of the host without a known format, so that it is not redacted by its format. */
function grant(name: string): string {
  const canary = makeCanary(name, plain);
  tokens.push(canary);
  bench.host.state.tokens.set(canary.value, { login: 'ada', endsAt: null, ofApp: false });
  return canary.value;
}

function plantVariables(): Record<string, string> {
  const names = secretNames.filter((name) => !/_URL$|^GIT_TOKEN/.test(name));
  return Object.fromEntries(
    names.map((name) => {
      const canary = makeCanary(name, plain);
      planted.push(canary);
      return [name, valid[name]?.(canary) ?? canary.value];
    }),
  );
}

/** Values of variables that need a valid form. The server of the channel rejects and echoes requests. */
const valid: Record<string, (canary: Canary) => string> = {
  ALERT_CHANNELS: ({ value }) => `ntfy+http://${value}@${new URL(store.endpoint).host}/topic`,
  CREDENTIALS_ENCRYPTION_KEY: ({ core }) => Buffer.from(core.padStart(32, '-')).toString('base64'),
};

/** Responses of a host that echoes the credential as sent, and decoded. */
const repeat = (c: { req: { header(name: string): string | undefined } }) => {
  const credential = c.req.header('authorization') ?? '';
  const inside = Buffer.from(credential.replace('Basic ', ''), 'base64').toString();
  return new Response(`no ${credential} ${inside}`, {
    status: 403,
    headers: { 'X-Told': credential },
  });
};

describe('a run', () => {
  it('is made with failing repositories and a rejecting destination', async () => {
    const variables = plantVariables();
    for (const name of ['team/good', 'team/refused', 'ada/backups']) {
      await bench.add({ fullName: name, private: true });
    }
    bench.http.answers.set('team/refused', repeat);
    const env = {
      ...variables,
      GIT_TOKEN_PERSONAL: grant('GIT_TOKEN_PERSONAL'),
      GIT_TOKEN_PRIVATE: grant('GIT_TOKEN_PRIVATE'),
      ORG_ACCOUNT: 'team',
      PATH: watched.path,
      LOG_LEVEL: 'debug',
      BACKUP_REPO_PATH: `${bench.host.url}/ada/backups.git`,
      BACKUP_STORES: `file://${bench.folder},${store.address}?endpoint=${store.endpoint}&path-style=yes&private=yes`,
      BACKUP_STORES_NEEDED: '1',
    };
    // The S3 client reads these variables itself.
    for (const name of ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const) {
      vi.stubEnv(name, variables[name] ?? '');
    }
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'an-id-that-is-no-secret');
    bench.host.state.organizations.add('team');
    const value = await bench.logIn('token', 'github:destination');
    tokens.push({ name: 'the destination login', value, core: value.slice(4) });
    for (const refuses of [false, true]) {
      if (refuses) bench.http.answers.set('ada/backups', repeat);
      const { code, stdout, stderr } = await bench.run({ databaseUrl: database.url, env });
      expect(code).toBe(1);
      written += stdout + stderr;
    }
    bench.host.state.apiAnswers.push({ status: 400, echo: true });
    const { code, stdout, stderr } = await bench.run({ databaseUrl: database.url, env });
    expect(code).toBe(1);
    written += stdout + stderr;
    expect(written).toMatch(/team\/good: archived/);
    expect(written).toMatch(/team\/refused: .*403/);
    expect(written).toMatch(/s3:\/\/backups\/git: AccessDenied: it was sent .*…/);
  });
});

describe('afterwards no canary is found', () => {
  const all = () => [...planted, ...tokens];

  it('in the output', () => {
    expect(all().length).toBeGreaterThan(10);
    expect(findCanaries(written, all())).toEqual([]);
  });

  it('in the database', async () => {
    const tables = await rowsOf<{ name: string }>(
      database.db,
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    for (const { name } of tables) {
      const content = await rowsOf(database.db, `SELECT it::text AS row FROM ${name} it`);
      expect({ name, found: findCanaries(JSON.stringify(content), all()) }).toEqual({
        name,
        found: [],
      });
    }
    expect(await rowsOf(database.db, 'SELECT 1 FROM execution_logs')).not.toEqual([]);
  });

  it('in the arguments of git, or in its environment except the token for one address', async () => {
    const processes = await watched.processes();
    expect(processes.length).toBeGreaterThan(10);
    const lines = processes.join('\n').split('\n');
    const sent = lines.filter((line) => /^GIT_CONFIG_VALUE_\d+=Authorization: Basic /.test(line));
    const others = lines.filter((line) => !sent.includes(line));
    expect(findCanaries(others.join('\n'), all())).toEqual([]);
    expect(findCanaries(sent.join('\n'), planted)).toEqual([]);
    expect(findCanaries(sent.join('\n'), tokens)).not.toEqual([]);
  });

  it('in an archive, a folder of git or any other file', async () => {
    // The records of git are checked above, and the login file is where the login belongs.
    await rm(join(bench.folder, 'seen'), { recursive: true });
    const store = join(bench.folder, 'config/credentials.json');
    expect(findCanaries(await readFile(store), tokens)).toEqual([
      'the destination login (as it is)',
    ]);
    await rm(store);
    expect(await findInFiles(bench.folder, all())).toEqual([]);
  });
});
