import { systemClock } from '../../../../lib/platform/clock.ts';
import { openEmbeddedDatabase } from '../../../../lib/platform/database/embedded/open.ts';
import { createLog } from '../../../../lib/platform/log.ts';
import { connect } from '../../../support/connection.ts';

// Crashes the database in the directory that it is given three times over its port, says so, and closes
// it on SIGTERM. Then it says which timers are left, and ends by itself if nothing keeps it alive.
const db = await openEmbeddedDatabase({
  dataDir: process.argv[2] ?? null,
  listen: { port: 0 },
  log: createLog('error', systemClock, () => undefined),
  clock: systemClock,
});
process.once('SIGTERM', async () => {
  await db.close();
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
  process.stdout.write(`${timers.length} timers`);
});
const client = await connect(db.url ?? '');
for (let crash = 1; crash <= 3; crash++) {
  const answer = client.query(`SELECT '${'['.repeat(60_000)}'::jsonb`);
  process.stdout.write(`${await answer.catch(({ code }) => code)}, `);
}
await client.end();
process.stdout.write('ready, ');
