import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventSource } from 'eventsource';
import { execa } from 'execa';
import { expect, it, vi } from 'vitest';
import { findFreePort } from '../../scripts/free-port.ts';
import { createPostgres } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { codeBlocks, readDocument } from '../support/documents.ts';
import { advanceUntil, startLive } from '../support/live.ts';
import { insertLog } from '../support/records.ts';

it('the page in docs/live-feed.md shows rows in a browser without the secret', async () => {
  const [program = ''] = codeBlocks(readDocument('docs/live-feed.md'), 'js');
  const folder = await mkdtemp(join(tmpdir(), 'browser-page-'));
  const file = join(folder, 'watch.mjs');
  await writeFile(file, program);
  const database = await createPostgres();
  const server = await startLive({ db: database.db });
  const port = await findFreePort(18784);
  const url = `http://127.0.0.1:${port}`;
  const page = execa(process.execPath, [file], {
    env: { PORT: String(port), BACKEND_URL: server.url, INTERNAL_SECRET: TEST_SECRET },
    reject: false,
  });

  const html = await vi.waitFor(async () => (await fetch(url)).text(), { timeout: 120_000 });
  expect(html).toContain("new EventSource('/stream')");
  expect(html).not.toContain(TEST_SECRET);
  const source = new EventSource(`${url}/stream`);
  const rows: string[] = [];
  source.addEventListener('log', ({ data }) => rows.push(JSON.parse(data).message));
  await new Promise((resolve) => source.addEventListener('open', resolve));
  await insertLog(database.db, { message: 'hello' });
  await advanceUntil(server.deps, () => expect(rows).toEqual(['hello']));

  source.close();
  page.kill();
  await page;
  await server.close();
  await database.close();
  await rm(folder, { recursive: true });
});
