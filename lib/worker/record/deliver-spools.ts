import { rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Database, isDatabaseUnavailable } from '../../database/database.ts';
import { syncFile } from '../../durable-files.ts';
import { messageOf } from '../../errors.ts';
import { isSystemError } from '../../files.ts';
import type { Log } from '../../log/log.ts';
import type { RunCounters } from '../../records/recording/runs.ts';
import {
  adoptSpooledRun,
  deliverChecked,
  deliverEnd,
  deliverLogs,
  deliverResult,
  type SpooledEnd,
  type SpooledLog,
} from '../../records/recording/spooled.ts';
import { deliverUnread } from '../../records/recording/unread.ts';
import { recordVersion } from '../../records/recording/versions.ts';
import { STALE_RUN_MESSAGE } from '../../records/runs/stale-runs.ts';
import { cleanText } from '../../text/clean-text.ts';
import { counted } from '../../text/units.ts';
import { type DeliveredDrills, deliverDrills } from './drill-spool.ts';
import { checkSpool, DamagedSpool, readSpool } from './read-spool.ts';
import { listSpools } from './spool-file.ts';
import type { SpoolHeader, SpoolLine } from './spool-line.ts';
import { writeFact } from './write-entry.ts';

const LOGS_AT_ONCE = 500;

/** A remark about a delivery, for the run's log. */
export interface DeliveryRemark {
  level: 'info' | 'warn' | 'error';
  text: string;
}

/** The outcome of the delivery. */
export interface SpoolDelivery {
  /** Whether the database did not answer. */
  isAway: boolean;
  remarks: DeliveryRemark[];
  /** The run that was delivered last, if its spool is the newest. */
  last: DeliveredRun | null;
}

/**
 * Delivers the spools of this DATA_DIR, oldest first, and deletes each once it is delivered. A spool that cannot be
 * delivered stays, and so do those after it. The caller holds the machine's lease.
 */
export async function deliverSpools(
  { db, log }: { db: Database; log: Log },
  dataFolder: string,
): Promise<SpoolDelivery> {
  const remarks: DeliveryRemark[] = [];
  let last: DeliveredRun | null = null;
  let what = 'what it contains';
  try {
    for (const path of await listSpools(dataFolder)) {
      what = basename(path);
      const { header, isTorn } = await checkSpool(path);
      if (isTorn) remarks.push({ level: 'warn', text: `dropped the torn last line of ${what}` });
      if (header !== null) {
        last = await deliverSpool(db, path, header);
        remarks.push({ level: 'info', text: describe(last) });
      }
      await rm(path);
      await syncFile(dirname(path));
    }
    what = 'a restore drill';
    remarks.push(...describeDrills(await deliverDrills(db, dataFolder)));
  } catch (error) {
    if (isDatabaseUnavailable(error)) return { isAway: true, remarks, last: null };
    const why = messageOf(error);
    if (!(error instanceof DamagedSpool || isSystemError(error)))
      log.error('a spool could not be delivered', { error });
    const text = `DATA_DIR/spool: ${what} cannot be delivered and is kept, along with all later ones (move it away to continue): ${why}`;
    remarks.push({ level: 'error', text: cleanText(text) });
    return { isAway: false, remarks, last: null };
  }
  return { isAway: false, remarks, last };
}

function describeDrills({ delivered, damaged }: DeliveredDrills): DeliveryRemark[] {
  const remarks = damaged.map((name): DeliveryRemark => {
    const text = cleanText(`DATA_DIR/spool: ${name} cannot be delivered and is kept`);
    return { level: 'error', text };
  });
  if (delivered === 0) return remarks;
  const drills = counted(delivered, 'restore drill');
  const text = `delivered ${drills}, spooled while the database was unreachable`;
  return [...remarks, { level: 'info', text }];
}

function describe({ id, results }: DeliveredRun): string {
  return `delivered run ${id} with ${counted(results, 'result')}, which was spooled while the database was unreachable`;
}

/** A run that was delivered. */
interface DeliveredRun {
  id: number;
  results: number;
}

/**
 * Writes a spool to the database, in order. Can be repeated after an interruption at any point. A run without an end
 * was killed. Throws database errors, and like `readSpool`.
 */
async function deliverSpool(
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
    if ('totalRepos' in line) state.totalRepos = line.totalRepos ?? state.totalRepos;
    if (line.type === 'result') state.results++;
    const log = logOf(line);
    if (log !== null) logs.push(log);
    if (line.type === 'end') end = { ...line, totalRepos: state.totalRepos };
    else if (line.type !== 'log') await deliverLine(db, id, line);
    if (logs.length >= LOGS_AT_ONCE) await flush();
  }
  await flush();
  const killed = { status: 'failed', fault: 'stale', metRequests: [] } as const;
  await deliverEnd(db, id, end ?? { ...killed, ...state, errorMessage: STALE_RUN_MESSAGE });
  return { id, results: state.results };
}

function logOf(line: SpoolLine): SpooledLog | null {
  if (line.type === 'log') return line;
  if (line.type === 'unread') {
    return { level: 'error', message: line.message, repository: null, at: line.at };
  }
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
    case 'version': {
      const { refs: all, ...facts } = line.facts;
      const refs = new Map(Object.entries(all));
      const { repository } = line;
      const version = { ...facts, repository, runId, refCount: refs.size };
      await recordVersion(db, { ...version, changes: { since: null, refs } });
      return;
    }
    case 'unread':
      return deliverUnread(db, runId, line);
    case 'total':
      return;
    default:
      return writeFact(db, runId, line, line.at);
  }
}
