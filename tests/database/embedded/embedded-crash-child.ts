import { systemClock } from '../../../lib/clock.ts';
import { openEmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createLog } from '../../../lib/log/log.ts';
import { connect } from '../../support/connection.ts';

// Crashes the database in the given directory three times over its socket, reports it, and closes it on SIGTERM. Then
// reports how many timers, threads and sockets are left, and exits unless something keeps it alive.
const db = await openEmbeddedDatabase({
  dataDir: process.argv[2] ?? '',
  listen: null,
  log: createLog('error', systemClock, () => undefined),
  clock: systemClock,
});
process.once('SIGTERM', async () => {
  await db.close();
  const left = process
    .getActiveResourcesInfo()
    .filter((kind) => /Timeout|Worker|MessagePort|PipeServer/.test(kind));
  process.stdout.write(`${left.length} left`);
});
for (let crash = 1; crash <= 3; crash++) {
  const client = await connect(db.url);
  client.on('error', () => undefined);
  const answer = client.query(`SELECT '${'['.repeat(60_000)}'::jsonb`);
  process.stdout.write(`${await answer.catch(({ code }) => code)}, `);
  await client.end();
}
process.stdout.write('ready, ');
