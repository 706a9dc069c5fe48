import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TEST_SECRET, withSecret } from '../support/deps.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { useDatabase } from '../support/hooks.ts';
import { startAlertReceiver } from '../support/incidents.ts';
import { startIn } from '../support/local-start.ts';

const database = useDatabase();
const folder = useTemporaryFolder();

it('npm start alerts when its database is unreachable, and remembers it in DATA_DIR', async () => {
  const url = new URL(database.url);
  const proxy = await startFaultProxy(url.hostname, Number(url.port));
  url.host = proxy.host;
  const receiver = await startAlertReceiver();
  const server = await startIn(folder, {
    DATABASE_URL: url.href,
    INTERNAL_SECRET: TEST_SECRET,
    ALERT_CHANNELS: receiver.address(),
  });
  try {
    const sweep = () => fetch(`${server.url}/api/cron/sweep-stale-runs`, { headers: withSecret });
    const remembered = join(folder, '.data', 'alerts', 'database-away.json');
    await proxy.break('refuses');
    // A database in use is always swept, so the test does not depend on the minute of the hour.
    await fetch(`${server.url}/api/repos`, { headers: withSecret });
    expect((await sweep()).status).toBe(503);
    expect(receiver.titles()).toEqual([]);
    const state = JSON.parse(await readFile(remembered, 'utf8'));
    const since = new Date(Date.parse(state.since) - 600_000).toISOString();
    await writeFile(remembered, JSON.stringify({ ...state, since, seen: since, at: since }));
    expect((await sweep()).status).toBe(503);
    expect(receiver.titles()).toEqual(['The database cannot be reached']);
    await proxy.repair();
    await expect.poll(async () => (await sweep()).status, { timeout: 120_000 }).toBe(200);
    expect(receiver.titles().slice(1)).toEqual(['Resolved: The database cannot be reached']);
  } finally {
    server.child.kill('SIGTERM');
    await server.finished;
    await Promise.all([proxy.close(), receiver.close()]);
  }
});
