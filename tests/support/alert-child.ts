// A process that raises alerts once, as a worker does, and is killed while it sends.

import { raiseAlerts } from '../../lib/alerts/raise-alerts.ts';
import { systemClock } from '../../lib/clock.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createTestDeps } from './deps.ts';
import { alertDeps } from './incidents.ts';

const [url = '', channel = ''] = process.argv.slice(2);
const { log } = createTestDeps();
const db = await openDatabase({ url, fetch, log });
const deps = await alertDeps(db, [channel]);
await raiseAlerts({ ...deps, clock: systemClock });
await db.close();
