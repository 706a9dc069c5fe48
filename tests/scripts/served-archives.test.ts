import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../../scripts/local-server.ts';
import { createEmbedded } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { TEST_TOKEN } from '../support/mcp.ts';
import { ADA, observatoryEnvironment } from '../support/observatory-client.ts';

// The server of `npm start` serves the archives of its machine to logged-in users.

const database = useDatabase(createEmbedded);
const folder = useSharedFolder();
let server: LocalServer;
let cookie: string;

beforeAll(async () => {
  const repository = await createRepository(join(folder, 'app'));
  await repository.commit({ 'a.html': '<script>alert(1)</script>' });
  await repository.git('bundle', 'create', '--quiet', '../ada__app.bundle', '--all');
  server = await startLocalServer({
    ...observatoryEnvironment,
    DATABASE_URL: database.url,
    BACKUP_ARCHIVE_PATH: folder,
    INTERNAL_SECRET: TEST_SECRET,
    MCP_AUTH_TOKEN: TEST_TOKEN,
    PATH: process.env.PATH,
    PORT: '0',
    LOG_LEVEL: 'error',
  });
  const answer = await fetch(`${server.url}/auth/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(ADA),
  });
  cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
});
afterAll(() => server.close());

const ask = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { method, headers: { Cookie: cookie, ...headers } });

it('the server reports in its configuration that it has archives', async () => {
  const { data } = (await (await ask('/observatory/config')).json()) as { data: object };
  expect(data).toMatchObject({
    features: { archives: { enabled: true, reason: null } },
    mcp: { has_token: true },
  });
});

it('the server lets a browser download a file and the archive, and verify it from our page', async () => {
  const base = '/api/repos/ada/app/archive';
  const file = await ask(`${base}/file?path=a.html`);
  expect([file.status, await file.text()]).toEqual([200, '<script>alert(1)</script>']);
  expect(file.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  const bundle = await ask(`${base}/bundle`);
  const { length } = await bundle.bytes();
  expect(bundle.headers.get('content-length')).toBe(String(length));
  expect((await ask(`${base}/verify`, 'POST')).status).toBe(403);
  const verified = await ask(`${base}/verify`, 'POST', { 'Sec-Fetch-Site': 'same-origin' });
  expect(await verified.json()).toMatchObject({ integrity_status: 'VALID_UNRECORDED' });
});

it('the server sends no archive to a page of another site', async () => {
  const headers = { 'Sec-Fetch-Site': 'cross-site' };
  const { status } = await ask('/api/repos/ada/app/archive/bundle', 'GET', headers);
  expect(status).toBe(403);
});
