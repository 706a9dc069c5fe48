import { expect, it } from 'vitest';
import { startMaintenance } from '../../../lib/database/embedded/maintenance.ts';
import { createTestClock } from '../../support/clock.ts';
import { createEmbedded, silentLog } from '../../support/databases.ts';
import { useDatabase } from '../../support/hooks.ts';

const database = useDatabase(createEmbedded);

it('maintenance updates row estimates every hour', async () => {
  const clock = createTestClock();
  const upkeep = startMaintenance(database.db, { clock, log: silentLog });
  for (const logs of [100, 300]) {
    await database.db.query({
      text: `INSERT INTO execution_logs (message)
             SELECT 'm' FROM generate_series(1, ${logs} - (SELECT count(*) FROM execution_logs))`,
    });
    clock.advance(60 * 60_000);
    await expect.poll(estimate, { timeout: 120_000 }).toBe(logs);
    await expect.poll(() => clock.sleepers(), { timeout: 120_000 }).toBe(1);
  }
  await upkeep.stop();
});

async function estimate(): Promise<number | undefined> {
  const [row] = await database.db.query<{ rows: number }>({
    text: "SELECT reltuples::int AS rows FROM pg_class WHERE oid = 'execution_logs'::regclass",
  });
  return row?.rows;
}
