import type { Clock } from '../../../clock.ts';
import { type Database, isDatabaseUnavailable } from '../../../database/database.ts';
import { addHeldJob } from '../../../records/fleet/jobs.ts';
import { beatMember, type Member, showMember } from '../../../records/fleet/members.ts';
import {
  recordJobResult,
  recordJobUnchanged,
  recordJobUnread,
} from '../../../records/fleet/results.ts';
import type { StartedRun } from '../../../records/recording/runs.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { retryWhileUnavailable } from '../../base/retry-database.ts';
import type { StoredEntry } from '../../base/run-entry.ts';
import { RunStopped } from '../../base/stop.ts';
import type { RunStore } from '../../record/run-store.ts';
import { writeEntry } from '../../record/write-entry.ts';
import type { LeaseWatch } from './lease-watch.ts';

/** Shorter than the lease, so that a retried statement ends before it does. */
const PATIENCE_MS = 60_000;
const UNREACHABLE =
  'the database is unreachable: this worker stops, and others take over its repositories';

/** Stands in for what a run does without the database, since a shared run always has one. */
export function noSpool(): never {
  throw new Error('a shared run has no spool');
}

interface MemberStoreOptions {
  db: Database;
  clock: Clock;
  run: StartedRun;
  member: Member;
  watch: LeaseWatch;
  /** Ids of the jobs that the member holds, by repository. Recording a result removes its job. */
  held: Map<string, string>;
  signal: AbortSignal;
}

/**
 * Records what a member of a shared run does. There is no spool: without the database, members cannot know who works
 * on what.
 * Throws RunStopped if the database is unreachable, or if another member has taken over a job.
 */
export function openMemberStore(options: MemberStoreOptions): RunStore {
  const { db, clock, run, member, watch, held, signal } = options;
  const inDatabase = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      return await retryWhileUnavailable(work, { clock, forMs: PATIENCE_MS, signal });
    } catch (cause) {
      if (!isDatabaseUnavailable(cause)) throw cause;
      throw new RunStopped(UNREACHABLE, { cause });
    }
  };
  const stopUnreachable = () => Promise.reject(new RunStopped(UNREACHABLE));
  const finish = async (
    entry: Extract<StoredEntry, { type: 'result' | 'unchanged' | 'unread' }>,
  ) => {
    const { repository } = entry;
    if (!held.has(repository)) await addHeldJob(db, member, repository);
    const isOurs =
      entry.type === 'result'
        ? await recordJobResult(db, member, entry)
        : entry.type === 'unread'
          ? await recordJobUnread(db, member, entry)
          : await recordJobUnchanged(db, member, entry);
    held.delete(repository);
    if (isOurs) return true;
    throw new RunStopped(
      cleanText(`the run was ended, or another worker has taken over ${repository}`),
    );
  };
  return {
    ...{ db, run, machine: member.machine },
    isSpooling: () => false,
    spool: stopUnreachable,
    write: (entry) =>
      inDatabase(() =>
        entry.type === 'result' || entry.type === 'unchanged' || entry.type === 'unread'
          ? finish(entry)
          : writeEntry(db, run.id, entry, member.machine),
      ),
    read: (work) => inDatabase(() => work(db, run)),
    async beat(_counters, progress) {
      const asked = watch.now();
      const jobs = [...held.values()];
      const renewed = await beatMember(db, member, progress, jobs);
      if (renewed === jobs.length) watch.renewed(asked);
      // A member that holds nothing learns in another way that the run has ended.
      return renewed === null ? jobs.length === 0 : renewed === jobs.length;
    },
    show: (progress) => showMember(db, member, progress),
    end: stopUnreachable,
  };
}
