import type { Database } from '../../database/database.ts';
import { recordAnomaly, recordMissing } from '../../records/recording/anomalies.ts';
import { recordCoverage } from '../../records/recording/coverage.ts';
import { writeLog } from '../../records/recording/logs.ts';
import { recordArchive } from '../../records/recording/repo-state.ts';
import { recordResult } from '../../records/recording/results.ts';
import { writeTotal } from '../../records/recording/runs.ts';
import { writeSnapshot } from '../../records/recording/snapshots.ts';
import { recordSources } from '../../records/recording/sources.ts';
import { recordSeen, recordStoring, recordUsed } from '../../records/recording/stores.ts';
import { recordUnchanged } from '../../records/recording/unchanged.ts';
import { recordUnread } from '../../records/recording/unread.ts';
import { markPruned, recordVersion } from '../../records/recording/versions.ts';
import type { StoredEntry, VersionFacts } from '../base/run-entry.ts';

/**
 * Stores an entry of a run on this machine in the database. Returns false if it found that another worker took over the
 * run.
 */
export async function writeEntry(
  db: Database,
  runId: number,
  entry: StoredEntry,
  machine: string,
): Promise<boolean> {
  switch (entry.type) {
    case 'result':
      return recordResult(db, { ...entry, runId, machine });
    case 'unchanged':
      return recordUnchanged(db, { ...entry, runId });
    case 'unread':
      return recordUnread(db, { ...entry, runId });
    case 'log':
      await writeLog(db, { ...entry, runId });
      break;
    case 'version':
      await writeVersion(db, runId, entry);
      break;
    case 'total':
      await writeTotal(db, runId, entry.totalRepos);
      break;
    default:
      await writeFact(db, runId, entry, null);
  }
  return true;
}

/** Entries that are stored in the same way live and when delivered later. */
type Fact = Exclude<
  StoredEntry,
  { type: 'result' | 'unchanged' | 'unread' | 'log' | 'version' | 'total' }
>;

/** Stores a fact learnt at a time; null for now. */
export async function writeFact(
  db: Database,
  runId: number,
  fact: Fact,
  at: string | null,
): Promise<void> {
  switch (fact.type) {
    case 'archive':
      return recordArchive(db, fact.repository, fact);
    case 'anomaly':
      return recordAnomaly(db, runId, fact, at);
    case 'missing':
      return recordMissing(db, runId, fact, at);
    case 'coverage':
      return recordCoverage(db, runId, fact.repositories, at);
    case 'sources':
      return recordSources(db, fact.sources, at);
    case 'pruned':
      return markPruned(db, fact.repository, fact.versions);
    case 'stores':
      return recordUsed(db, fact, at);
    case 'stored':
      return recordStoring(db, fact);
    case 'seen':
      return recordSeen(db, fact, at);
    case 'snapshot':
      return writeSnapshot(db, runId, fact.snapshot, at);
  }
}

/** Records a version with its changes, or with all refs if the previous version was not recorded. */
async function writeVersion(
  db: Database,
  runId: number,
  { repository, facts }: { repository: string; facts: VersionFacts },
): Promise<void> {
  const { refs, changes, previousManifestSha256: since, ...rest } = facts;
  const version = { ...rest, repository, runId, refCount: refs.size };
  if (await recordVersion(db, { ...version, changes: { since, refs: changes } })) return;
  await recordVersion(db, { ...version, changes: { since: null, refs } });
}
