import { systemClock } from '../../../lib/clock.ts';
import { openEmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createLog } from '../../../lib/log/log.ts';

// Opens the database in the given directory, stores a row, reports it, and keeps running.
const db = await openEmbeddedDatabase({
  dataDir: process.argv[2] ?? '',
  listen: null,
  log: createLog('error', systemClock),
  clock: systemClock,
});
await db.query({ text: 'CREATE TABLE IF NOT EXISTS t (a int)' });
await db.query({ text: 'INSERT INTO t VALUES (1)' });
process.stdout.write('ready\n');
