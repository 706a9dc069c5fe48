import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { createRepository, type TestRepository } from '../../tests/support/git.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { callWorker } from '../../tests/support/worker.ts';
import { printTable, quantile } from '../report.ts';
import { times } from '../share.ts';

const DAY_MS = 86_400_000;
const GOAL_DAYS = 30;

interface Plan {
  repositories: number;
  days: number;
  /** Minutes allowed for drills after each run. */
  budget: number;
  /** Runs per day. */
  runs: number;
  /** Repositories that change per day. */
  changed: number;
  /** KiB of incompressible content in each repository. */
  kibibytes: number;
}

/**
 * `npm run bench -- drills [--repositories 500] [--days 35] [--budget 5] [--runs 1] [--changed 25] [--kibibytes
 * 256]`: measures how old the oldest proof gets. Repositories, backups and drills are real; only the clock of the
 * drills is set ahead.
 */
export async function runDrillsBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      repositories: { type: 'string', default: String(times(500)) },
      days: { type: 'string', default: String(times(35)) },
      budget: { type: 'string', default: '5' },
      runs: { type: 'string', default: '1' },
      changed: { type: 'string', default: String(times(25)) },
      kibibytes: { type: 'string', default: '256' },
    },
  });
  const plan = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Number(value)]),
  ) as unknown as Plan;
  if (Object.values(plan).some((value) => !(value >= 1))) {
    throw new Error('options must be numbers of at least 1');
  }
  const folder = await mkdtemp(join(tmpdir(), 'bench-drills-'));
  const postgres = await startPostgres();
  const db = await openDatabase({ url: postgres.url, fetch, log: createLog('error', systemClock) });
  try {
    await migrate(db, 'drizzle');
    await measure(plan, { folder, databaseUrl: postgres.url, db });
  } finally {
    await db.close();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface World {
  folder: string;
  databaseUrl: string;
  db: Database;
}

async function measure(plan: Plan, world: World): Promise<void> {
  const { folder, databaseUrl, db } = world;
  const sources: TestRepository[] = [];
  for (let n = 0; n < plan.repositories; n++) {
    const name = `app-${String(n).padStart(4, '0')}`;
    const source = await createRepository(join(folder, 'sources', name));
    await source.commit({ noise: randomBytes(plan.kibibytes * 512).toString('hex') });
    sources.push(source);
  }
  const archives = join(folder, 'archives');
  const call = async (args: string[], clock: Clock) => {
    const { code, stderr } = await callWorker({ databaseUrl, archives, folder, args, clock });
    if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${stderr}`);
  };
  const backUp = () =>
    call(['run', ...sources.flatMap(({ path }) => ['--source', path])], systemClock);
  const worst: number[] = [];
  const tookMs: number[] = [];
  let next = 0;
  for (let day = 0; day < plan.days; day++) {
    for (let n = 0; day > 0 && n < plan.changed; n++) {
      await sources[next++ % sources.length]?.commit({ 'day.txt': `${day}` });
    }
    await backUp();
    for (let run = 0; run < plan.runs; run++) {
      const ahead = (day + run / plan.runs) * DAY_MS;
      const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
      const start = performance.now();
      await call(['drill', '--budget', String(plan.budget)], clock);
      tookMs.push(performance.now() - start);
      // Before the next run, when proofs are oldest.
      worst.push(await oldestProof(db, clock.now() + DAY_MS / plan.runs));
    }
  }
  await report(plan, world, worst, tookMs);
}

/** The age of the oldest last proof in days. A repository without a proof counts from the first run. */
async function oldestProof(db: Database, now: number): Promise<number> {
  const [row] = await db.query<{ days: string }>(
    {
      text: `SELECT max(extract(epoch FROM $1::timestamptz - coalesce(
          (SELECT max(started_at) FROM restore_drills AS drill
           WHERE lower(drill.repository_name) = lower(state.repo_full_name) AND outcome = 'proven'),
          (SELECT min(started_at) FROM backup_runs))) / 86400)::text AS days
        FROM worker_repo_state AS state`,
    },
    [new Date(now).toISOString()],
  );
  return Number(row?.days);
}

async function report(
  plan: Plan,
  { db }: World,
  worst: readonly number[],
  tookMs: readonly number[],
): Promise<void> {
  const [row] = await db.query<{ drills: number; others: number; ms: string }>({
    text: `SELECT count(*)::int AS drills, (count(*) FILTER (WHERE outcome <> 'proven'))::int AS others,
      coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms), 0)::text AS ms FROM restore_drills`,
  });
  const { drills = 0, others = 0, ms = '0' } = row ?? {};
  const days = (value: number) => `${value.toFixed(1)} days`;
  const seconds = (value: number) => `${(value / 1_000).toFixed(1)} s`;
  const inMonth = Math.floor((GOAL_DAYS * plan.runs * plan.budget * 60_000) / Number(ms));
  printTable(
    `Restore drills: ${plan.repositories} repositories of ${plan.kibibytes} KiB, ${plan.days} days, ${plan.runs} runs a day, ${plan.budget} minutes each`,
    ['Figure', 'Value', 'Goal'],
    [
      ['oldest proof', days(Math.max(...worst)), days(GOAL_DAYS)],
      ['median over the runs', days(quantile(worst, 0.5)), ''],
      ['drills', `${drills}, not proven: ${others}`, 'not proven: 0'],
      ['one drill, median', seconds(Number(ms)), ''],
      ['all drills of a run, at most', seconds(Math.max(...tookMs)), seconds(plan.budget * 60_000)],
      [`drills that fit into ${GOAL_DAYS} days`, String(inMonth), `${plan.repositories}`],
    ],
  );
}
