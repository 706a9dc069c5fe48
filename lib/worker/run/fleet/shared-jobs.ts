import { messageOf } from '../../../errors.ts';
import {
  type ClaimedRunJob,
  claimRunJob,
  type RunCounts,
  readSharedRun,
} from '../../../records/fleet/jobs.ts';
import type { Member } from '../../../records/fleet/members.ts';
import type { Job } from '../../backup/backup.ts';
import { onMachine, RunStopped } from '../../base/stop.ts';
import type { Journal } from '../../record/journal.ts';
import type { JobSource } from '../jobs.ts';
import { noSpool } from './member-store.ts';
import type { JobBuilder } from './rebuild-source.ts';

/** Why a run ends if its repositories were never listed. Other workers compare it, also those of another release. */
const STARTER_GONE =
  'the worker that started this run is gone, and had not listed the repositories';

/** Why a member stops if it no longer sees the same archives as the others. */
export const FOLDER_GONE = 'the archive folder is no longer that of this run: is it mounted?';

/** How often an idle member asks for a job, such as one that was given back or that a killed member held. */
const POLL_MS = 2_000;

interface SharedJobsOptions {
  member: Member;
  journal: Journal;
  builder: JobBuilder;
  /** Jobs that this member has published, by repository. */
  own: ReadonlyMap<string, Job>;
  /** Ids of the jobs that the member holds, by repository. */
  held: Map<string, string>;
  /** Whether the archive folder is still that of the run: a network mount may disappear during it. */
  hasFolder(): Promise<boolean>;
  /** Called once all jobs are published. */
  onListed(): Promise<void>;
  /** Called with the counts of all members together. */
  onCounted(counts: RunCounts): Promise<void>;
}

/** The jobs of a run that this member claims. */
export interface SharedJobs extends JobSource<Job> {
  /** Whether the member holds the end of the run, which comes after all other jobs. */
  hasEnd(): boolean;
}

/** Claims jobs of a run until the run has ended, or only its end is left to do. */
export function openSharedJobs(options: SharedJobsOptions): SharedJobs {
  const { member, journal, builder, own, held, hasFolder, onListed, onCounted } = options;
  const { store } = journal;
  let hasEnd = false;
  let isListed = false;
  const noticeList = async () => {
    if (isListed) return;
    isListed = true;
    await onListed();
  };
  const makeJob = async ({ repository, facts }: ClaimedRunJob): Promise<Job | null> => {
    const job = own.get(repository);
    if (job !== undefined) return job;
    try {
      return await builder.build(repository, facts);
    } catch (error) {
      if (error instanceof RunStopped) throw error;
      const reason = messageOf(error);
      const text = onMachine(`${reason}: it was not backed up`, member.hostName);
      await recordLostJob(journal, repository, text);
      return null;
    }
  };
  return {
    pollMs: POLL_MS,
    hasEnd: () => hasEnd,
    async take(fullHosts) {
      for (;;) {
        if (hasEnd) return 'over';
        if (!(await hasFolder())) {
          const { isActive } = await store.read((db) => readSharedRun(db, member.runId), noSpool);
          if (!isActive) return 'over';
          throw new RunStopped(FOLDER_GONE);
        }
        const claimed = await store.read((db) => claimRunJob(db, member, fullHosts), noSpool);
        if (claimed === null) {
          const state = await store.read((db) => readSharedRun(db, member.runId), noSpool);
          if (!state.isActive) return 'over';
          if (state.isListed) {
            await noticeList();
            await onCounted(state);
          } else if (!state.hasStarter) {
            throw new RunStopped(STARTER_GONE, { fault: 'starter_gone' });
          }
          return 'later';
        }
        await noticeList();
        await onCounted(claimed);
        held.set(claimed.repository, claimed.id);
        hasEnd = claimed.kind === 'end';
        if (hasEnd) return 'over';
        const job = await makeJob(claimed);
        if (job !== null) return { job };
      }
    },
  };
}

/** Records that a repository could not be backed up by any member. */
export async function recordLostJob(
  journal: Journal,
  repository: string,
  errorMessage: string,
): Promise<void> {
  const none = { commitHash: '', archiveSizeBytes: 0, durationMs: 0, archive: null };
  await journal.tell({ type: 'result', ...none, repository, status: 'failed', errorMessage });
  await journal.note('error', errorMessage, repository);
}
