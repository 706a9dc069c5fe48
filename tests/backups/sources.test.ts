import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../../scripts/local-server.ts';
import { createClient } from '../support/client.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { observatoryEnvironment } from '../support/observatory-client.ts';
import { empty, sql } from '../support/records.ts';
import { callWorker } from '../support/worker.ts';

// The server of `npm start`, which tries sources with real git, and the worker.

const folder = useSharedFolder();
let database: TestDatabase;
let server: LocalServer;
let git: string;
let archives: string;

beforeAll(async () => {
  git = join(folder, 'git');
  archives = join(folder, 'archives');
  for (const name of ['one', 'two']) {
    const made = await createRepository(join(git, name));
    await made.commit({ 'a.txt': name });
  }
  database = await createPostgres();
  server = await startLocalServer({
    ...observatoryEnvironment,
    ...{ DATABASE_URL: database.url, INTERNAL_SECRET: TEST_SECRET, PORT: '0', LOG_LEVEL: 'error' },
    ...{ PATH: process.env.PATH, DATA_DIR: join(folder, 'data'), BACKUP_ARCHIVE_PATH: archives },
    BACKUP_SOURCES: join(folder, 'configured'),
  });
});
afterAll(async () => {
  await server.close();
  await database.close();
});
beforeEach(() => empty(database.db));

async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'X-Internal-Secret': TEST_SECRET, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
interface Listed {
  id: number;
  address: string;
}
const list = async () => (await ask('GET', '/api/sources')).body.data as Listed[];
const add = async (...addresses: string[]) => {
  const { body } = await ask('POST', '/api/sources', { addresses });
  return (body.data as Listed[]).map(({ id }) => id);
};
const run = () => callWorker({ databaseUrl: database.url, archives, args: ['run'] });

describe('trying a source', () => {
  it('tells what is there, and adds nothing', async () => {
    const one = join(git, 'one');
    expect(await ask('POST', '/api/sources/try', { address: one })).toMatchObject({
      status: 200,
      body: { kind: 'repository', address: one, name: 'local/one', refs: 1 },
    });
    expect(await ask('POST', '/api/sources/try', { address: git })).toMatchObject({
      status: 200,
      body: {
        kind: 'folder',
        repositories: [
          { address: one, name: 'local/one' },
          { address: join(git, 'two'), name: 'local/two' },
        ],
      },
    });
    expect(await sql(database.db, 'SELECT FROM sources')).toEqual([]);
  });

  it.each([
    ['/nowhere/typo', 'there is no folder'],
    ['https://ada:hunter2@git.example.com/ada/app.git', 'contains credentials'],
    ['https://169.254.169.254/ada/app.git', 'link-local'],
  ])('refuses %s at its field, with the reason', async (address, reason) => {
    const { status, body } = await ask('POST', '/api/sources/try', { address });
    expect({ status, body }).toMatchObject({ status: 400 });
    expect(JSON.stringify(body)).toContain(reason);
    expect(JSON.stringify(body)).not.toContain('hunter2');
  });
});

describe('adding sources', () => {
  it('tries all of them first, and adds all or none', async () => {
    const addresses = [join(git, 'one'), join(git, 'typo')];
    expect(await ask('POST', '/api/sources', { addresses })).toMatchObject({ status: 400 });
    expect(await sql(database.db, 'SELECT FROM sources')).toEqual([]);
    const added = await ask('POST', '/api/sources', { addresses: [git], exclude: ['old-*'] });
    expect(added).toMatchObject({
      status: 201,
      body: { data: [{ kind: 'folder', address: git, exclude: ['old-*'], created_by: 'api' }] },
    });
    expect(await ask('POST', '/api/sources', { addresses: [`${git}/`] })).toMatchObject({
      status: 409,
    });
  });

  it('says where sources can be added, where nothing is backed up', async () => {
    const deployed = createClient({ db: database.db });
    const { status, body } = await deployed.post('/api/sources', { addresses: [git] });
    expect({ status, body }).toMatchObject({ status: 409 });
    expect(JSON.stringify(body)).toContain('npm run worker -- sources add');
    expect((await deployed.get('/api/sources')).body).toMatchObject({ may_try: false });
  });
});

describe('a listed source', () => {
  it('shows what came of it, also if it could not be read', async () => {
    await add(git);
    await sql(
      database.db,
      "INSERT INTO sources (kind, address, key) VALUES ('folder', '/nowhere/typo', '/nowhere/typo')",
    );
    await run();
    expect(await list()).toMatchObject([
      { id: 0, kind: 'login', repositories: 0 },
      { set_by: 'BACKUP_SOURCES' },
      { address: git, repositories: 2, failing: 0, last_read_at: expect.any(String), fault: null },
      { repositories: 0, fault: { reason: expect.stringContaining('there is no folder') } },
    ]);
    const overview = await ask('GET', '/api/overview');
    expect(overview.body).toMatchObject({ repositories: { total: 2, good: 2 } });
  });

  it('cannot be changed if a variable sets it', async () => {
    const [, configured] = await list();
    const path = `/api/sources/${configured?.id}`;
    for (const answer of [
      await ask('PATCH', path, { is_paused: true }),
      await ask('DELETE', path),
    ]) {
      expect(answer.status).toBe(409);
      expect(JSON.stringify(answer.body)).toContain('BACKUP_SOURCES');
    }
  });

  it('is paused, resumed and given patterns, and so is the login', async () => {
    const [id = 0] = await add(git);
    for (const source of [id, 0]) {
      const path = `/api/sources/${source}`;
      expect(await ask('PATCH', path, { is_paused: true, exclude: ['two'] })).toMatchObject({
        status: 200,
        body: { paused_at: expect.any(String), paused_by: 'api', exclude: ['two'] },
      });
      expect(await ask('PATCH', path, { is_paused: false })).toMatchObject({
        body: { paused_at: null, exclude: ['two'] },
      });
    }
    await run();
    expect((await list()).find((one) => one.id === id)).toMatchObject({ repositories: 1 });
    expect(await ask('PATCH', `/api/sources/${id}`, { exclude: ['(x)'] })).toMatchObject({
      status: 400,
    });
    expect(await ask('PATCH', '/api/sources/999', { is_paused: true })).toMatchObject({
      status: 404,
    });
  });
});

describe('removing a source', () => {
  it('forgets what only it names, after saying so, and counts it nowhere', async () => {
    const [id] = await add(git);
    await add(join(git, 'one'));
    await run();
    const look = await ask('DELETE', `/api/sources/${id}?dry_run=true`);
    expect(look).toMatchObject({
      status: 200,
      body: { repositories: [{ full_name: 'local/two', outcome: 'forgotten', is_kept: true }] },
    });
    expect(await list()).toHaveLength(4);
    expect(await ask('DELETE', `/api/sources/${id}`)).toMatchObject({ status: 200 });
    expect(await list()).toHaveLength(3);
    const overview = await ask('GET', '/api/overview');
    expect(overview.body).toMatchObject({ repositories: { total: 1 } });
    await ask('POST', '/api/run-requests', {});
    await run();
    const requests = 'SELECT status FROM backup_run_requests';
    expect(await sql(database.db, requests)).toEqual([{ status: 'completed' }]);
  });

  it('removes neither the login nor what does not exist', async () => {
    expect(await ask('DELETE', '/api/sources/0')).toMatchObject({ status: 409 });
    expect(await ask('DELETE', '/api/sources/999')).toMatchObject({ status: 404 });
  });
});
