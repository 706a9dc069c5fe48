import {
  clearSharedRun,
  type LeftJob,
  listFailedRequests,
  readSharedFigures,
  type SharedRunFigures,
  takeLeftJobs,
} from '../../../records/fleet/ending.ts';
import { listRunJobs, MAX_CLAIMS } from '../../../records/fleet/jobs.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { isFaultKind } from '../../base/git-faults.ts';
import type { Stop } from '../../base/stop.ts';
import type { Destination } from '../../offsite/destination/open-destination.ts';
import { type EndContext, endRun } from '../end-run.ts';
import type { RunContext, RunProgress } from '../run-deps.ts';
import { storeSnapshot } from '../store-snapshot.ts';
import { describeOutcome, type EndedRun } from '../watching/report.ts';
import type { EnteredRun } from './enter-run.ts';
import { removeFolderToken } from './folder-token.ts';
import { noSpool } from './member-store.ts';
import { recordLostJob } from './shared-jobs.ts';

/** Finishes the run once all jobs are done: records the jobs that no member could do, and takes the snapshot. */
export async function concludeJobs(
  context: EndContext & Pick<RunContext, 'journal' | 'archiveFolder'>,
  { member }: EnteredRun,
  held: Map<string, string>,
  destination: Pick<Destination, 'measure'> | null,
): Promise<void> {
  const { journal } = context;
  const left = await journal.store.read((db) => takeLeftJobs(db, member), noSpool);
  for (const { repository, id } of left) held.set(repository, id);
  for (const job of left) await recordLostJob(journal, job.repository, whyLeft(job));
  const listed = await journal.store.read((db) => listRunJobs(db, member.runId), noSpool);
  const names = listed.map(({ repository }) => repository);
  await storeSnapshot(context, names, destination);
}

function whyLeft({ tries, isOwn, gitHostUrl }: LeftJob): string {
  if (tries >= MAX_CLAIMS) {
    return `not backed up: ${tries} workers were killed while working on it`;
  }
  if (isOwn === 1) {
    return 'not backed up: only the worker that started this run can read its address, and it no longer takes part';
  }
  return cleanText(`not backed up: no remaining worker has ${gitHostUrl} as its GIT_HOST_URL`);
}

/** Ends a run for all its members, with their results or with the reason why the last of them stopped. */
export async function endSharedRun(
  context: EndContext & Pick<RunContext, 'journal' | 'archiveFolder'>,
  { run, token }: EnteredRun,
  stopped: Stop | null,
): Promise<void> {
  const { db, journal, archiveFolder, log } = context;
  const { id } = run;
  const figures = await readSharedFigures(db, id);
  const { successful = 0, failed = 0, skipped = 0, empty = 0, unread = [] } = figures ?? {};
  const counters = { successful, failed, skipped };
  const outcome = describeOutcome(counters, { empty, unread });
  const ended = await endRun(context, journal, {
    status: stopped === null ? 'completed' : 'failed',
    errorMessage: stopped?.message ?? outcome.errorMessage,
    stoppedBy: stopped?.stoppedBy ?? null,
    fault: stopped?.fault ?? null,
    counters,
    failedRequests: await listFailedRequests(db, id),
    requests: [],
    lastLine: stopped?.message ?? outcome.lastLine,
  });
  if (!ended.isRecorded) return;
  try {
    await clearSharedRun(db, id);
    await removeFolderToken(archiveFolder, token);
  } catch (error) {
    // The next shared run removes it.
    log.warn('the data of a shared run could not be removed', { run_id: id, error });
  }
}

/** The report of an ended run, over all its members. `own`: what failed at this member, whose reasons are known. */
export function reportShared(
  id: number,
  figures: SharedRunFigures,
  own: Pick<RunProgress, 'failures' | 'unread'>,
  { exitCode, isStopped }: { exitCode: number | null; isStopped: boolean },
): EndedRun {
  const { successful, failed, skipped, empty, total, errorMessage, durationMs } = figures;
  const knownUnread = new Map(own.unread.map((unread) => [unread.source, unread]));
  const isGood = figures.status === 'completed' && failed === 0 && figures.unread.length === 0;
  return {
    ...{ id, total, empty, lost: 0, errorMessage, durationMs, isSpooled: false, isStopped },
    status: figures.status === 'completed' ? 'completed' : 'failed',
    counters: { successful, failed, skipped },
    failures: figures.failures.map(({ fault, ...failure }) => ({
      ...failure,
      kind: fault !== null && isFaultKind(fault) ? fault : 'other',
    })),
    unread: figures.unread.map(
      (unread) => knownUnread.get(unread.source) ?? { ...unread, kind: 'other' },
    ),
    exitCode: exitCode ?? (isGood ? 0 : 1),
  };
}
