import type { Database } from '../../database/database.ts';
import { recordAnomaly, recordMissing } from '../../records/recording/anomalies.ts';
import { recordCoverage } from '../../records/recording/coverage.ts';
import { recordArchive } from '../../records/recording/repo-state.ts';
import type { RunCounters } from '../../records/recording/runs.ts';
import { writeSnapshot } from '../../records/recording/snapshots.ts';
import {
  adoptSpooledRun,
  deliverChecked,
  deliverEnd,
  deliverLogs,
  deliverResult,
  type SpooledEnd,
  type SpooledLog,
} from '../../records/recording/spooled.ts';
import { recordStoring } from '../../records/recording/stores.ts';
import { markPruned, recordVersion } from '../../records/recording/versions.ts';
import { STALE_RUN_MESSAGE } from '../../records/stale-runs.ts';
import { readSpool } from './read-spool.ts';
import type { SpoolHeader, SpoolLine } from './run-entry.ts';

const LOGS_AT_ONCE = 500;

/** A run that was delivered. */
export interface DeliveredRun {
  id: number;
  results: number;
}

/**
 * Writes a spool to the database, in its order. May be repeated after an interruption at any point. A run without an
 * end was killed. Throws errors of the database and like `readSpool`.
 */
export async function deliverSpool(
  db: Database,
  path: string,
  { spool_id: spoolId, run: started, at }: SpoolHeader,
): Promise<DeliveredRun> {
  const id = await adoptSpooledRun(db, { spoolId, started, at });
  const state = {
    totalRepos: null as number | null,
    counters: null as RunCounters | null,
    at,
    results: 0,
  };
  let end: SpooledEnd | null = null;
  let logs: SpooledLog[] = [];
  const flush = async () => {
    if (logs.length > 0) await deliverLogs(db, id, logs);
    logs = [];
  };
  for await (const line of readSpool(path)) {
    state.at = line.at;
    if ('counters' in line) state.counters = line.counters;
    if (line.type === 'total') state.totalRepos = line.totalRepos;
    if (line.type === 'result') state.results++;
    const log = logOf(line);
    if (log !== null) logs.push(log);
    if (line.type === 'end') end = { ...line, totalRepos: state.totalRepos };
    else if (line.type !== 'log') await deliverLine(db, id, line);
    if (logs.length >= LOGS_AT_ONCE) await flush();
  }
  await flush();
  const killed = { status: 'failed', errorMessage: STALE_RUN_MESSAGE, metRequests: [] } as const;
  await deliverEnd(db, id, end ?? { ...killed, ...state });
  return { id, results: state.results };
}

function logOf(line: SpoolLine): SpooledLog | null {
  if (line.type === 'log') return line;
  if (line.type !== 'unchanged') return null;
  const { message, repository, at } = line;
  return { level: 'info', message, repository, at };
}

async function deliverLine(
  db: Database,
  runId: number,
  line: Exclude<SpoolLine, { type: 'log' | 'end' }>,
): Promise<void> {
  switch (line.type) {
    case 'result':
      return deliverResult(db, runId, line);
    case 'unchanged':
      return deliverChecked(db, line.repository, line.at);
    case 'archive':
      return recordArchive(db, line.repository, line);
    case 'version': {
      const { refs: all, ...facts } = line.facts;
      const refs = new Map(Object.entries(all));
      const { repository } = line;
      const version = { ...facts, repository, runId, refCount: refs.size };
      await recordVersion(db, { ...version, changes: { since: null, refs } });
      return;
    }
    case 'anomaly':
      return recordAnomaly(db, runId, line, line.at);
    case 'missing':
      return recordMissing(db, runId, line, line.at);
    case 'coverage':
      return recordCoverage(db, runId, line.repositories, line.at);
    case 'pruned':
      return markPruned(db, line.repository, line.versions);
    case 'stored':
      return recordStoring(db, line);
    case 'snapshot':
      return writeSnapshot(db, runId, line.snapshot, line.at);
    case 'total':
      return;
  }
}
