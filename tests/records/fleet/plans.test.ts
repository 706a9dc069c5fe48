import { beforeAll, expect, it } from 'vitest';
import type { Database } from '../../../lib/database/database.ts';
import { claimRunJob, readSharedRun } from '../../../lib/records/fleet/jobs.ts';
import { enterRun, type Member } from '../../../lib/records/fleet/members.ts';
import { recordJobUnchanged } from '../../../lib/records/fleet/results.ts';
import { startRun } from '../../../lib/records/recording/runs.ts';
import { useDatabase } from '../../support/hooks.ts';
import { explainRead } from '../../support/plans.ts';
import { sql } from '../../support/records.ts';

// A run of 10,000 repositories, half of them done. The rows that a claim reads depend on what it takes, not on the
// total.

const database = useDatabase();
let near: Member;
const member = (id: string): Member => ({ ...near, id, machine: id });

beforeAll(async () => {
  const { db } = database;
  const started = await startRun(db, { totalRepos: 1, staleAfterMs: 1_000, fleetToken: 'f' });
  if (!('id' in started)) throw new Error('another run is active');
  const runId = started.id;
  near = { runId, id: 'near', machine: 'near', hostName: '', gitHostUrl: '', isStarter: true };
  for (const id of ['near', 'far', 'new']) await enterRun(db, member(id));
  await sql(
    db,
    `INSERT INTO run_jobs (run_id, kind, repository, position, state, preferred_machine, created_at)
     SELECT $1::int, 'repository', 'team/' || n, n, CASE WHEN n % 2 = 0 THEN 'open' ELSE 'done' END,
       CASE WHEN n % 20 = 0 THEN 'near' WHEN n % 20 = 2 THEN 'far' END, now() - interval '2 minutes'
     FROM generate_series(1, 10000) AS n`,
    [runId],
  );
  await sql(db, `INSERT INTO run_jobs (run_id, kind, repository) VALUES ($1::int, 'end', '')`, [
    runId,
  ]);
  await sql(db, 'ANALYZE');
});

it.each([
  ['a job that prefers the machine', 'near'],
  ['any job', 'new'],
])('claiming %s reads few rows', async (_what, id) => {
  for (const generic of [false, true]) {
    const claim = (db: Database) => claimRunJob(db, member(id), ['busy.example']);
    const { run_jobs: read = 0 } = await explainRead(database, claim, generic);
    expect(read).toBeLessThan(30);
  }
});

it('recording a job reads few rows', async () => {
  for (const generic of [false, true]) {
    const about = { repository: 'team/2', message: '' };
    const record = (db: Database) => recordJobUnchanged(db, near, about);
    const { run_jobs: read = 0 } = await explainRead(database, record, generic);
    expect(read).toBeLessThan(30);
  }
});

it('reading the state of a run reads few rows', async () => {
  const { run_jobs: read = 0 } = await explainRead(
    database,
    (db) => readSharedRun(db, near.runId),
    true,
  );
  expect(read).toBeLessThan(30);
});
