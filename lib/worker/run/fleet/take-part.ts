import { isDatabaseUnavailable } from '../../../database/database.ts';
import { AppError } from '../../../errors.ts';
import { readSharedFigures } from '../../../records/fleet/ending.ts';
import { listRunJobs, publishJobs, readSharedRun } from '../../../records/fleet/jobs.ts';
import { leaveRun } from '../../../records/fleet/members.ts';
import type { Job } from '../../backup/backup.ts';
import { openRunTime } from '../../backup/run-time.ts';
import { orHangs } from '../../base/answering-folder.ts';
import { retryWhileUnavailable } from '../../base/retry-database.ts';
import type { Source } from '../../base/source.ts';
import { describeStop, onMachine, RunStopped, type Stop } from '../../base/stop.ts';
import type { DeliveryRemark } from '../../record/deliver-spools.ts';
import { backUpEach } from '../back-up-each.ts';
import { followRun } from '../follow-run.ts';
import { prepareFolders } from '../prepare-folders.ts';
import { foldersOf, openAccess, planRun } from '../run.ts';
import { newProgress, type RunContext, type RunDeps, type RunProgress } from '../run-deps.ts';
import { withTargets } from '../targets.ts';
import type { RunReport } from '../watching/report.ts';
import { concludeJobs, endSharedRun, reportShared } from './end-shared-run.ts';
import type { EnteredRun } from './enter-run.ts';
import { hasFolderToken } from './folder-token.ts';
import { describeJobs } from './job-facts.ts';
import { watchLease } from './lease-watch.ts';
import { openMemberStore } from './member-store.ts';
import { createJobBuilder } from './rebuild-source.ts';
import { FOLDER_GONE, openSharedJobs, type SharedJobs } from './shared-jobs.ts';

/** How long a stopping worker waits for the database, even after Ctrl-C. */
const LAST_PATIENCE_MS = 5_000;
const TAKEN = "the run was ended, or others have taken over this worker's repositories";

/** The error of a shared run whose database is unreachable. */
export function explainUnreachable(cause?: unknown): AppError {
  const text = 'the database is unreachable, and --join needs it: a run without --join does not';
  return new AppError('SERVICE_UNAVAILABLE', text, { cause });
}

/**
 * Works in a run until nothing is left, or this worker has to stop. Null if the run ended before its repositories were
 * listed, because its starter was lost.
 */
export async function takePart(
  deps: RunDeps,
  entered: EnteredRun,
  given: readonly Source[] | null,
  remarks: readonly DeliveryRemark[],
): Promise<RunReport | null> {
  const { clock, db, log } = deps;
  const { run, member } = entered;
  const lost = new AbortController();
  const signal = AbortSignal.any([deps.signal, lost.signal]);
  const stop = (error: unknown) => lost.abort(error);
  const held = new Map<string, string>();
  const watch = watchLease(clock);
  const { journal, end } = await followRun(
    deps,
    () => openMemberStore({ db, clock, run, member, watch, held, signal }),
    { stop, taken: TAKEN },
  );
  const progress = newProgress([]);
  const hasFolder = () => hasFolderToken(deps.archiveFolder, entered.token);
  const checkLease = async () => {
    if (!(await hasFolder())) throw new RunStopped(`the run was ended, or ${FOLDER_GONE}`);
    watch.check();
  };
  const context = {
    ...deps,
    journal,
    signal,
    stop,
    time: openRunTime(clock, journal),
    checkLease,
    hostName: member.hostName,
  };
  const part: Part = { entered, given, held, hasFolder, isListed: false, hasEnd: false };
  let stopped: Stop | null = null;
  try {
    for (const { level, text } of remarks) await journal.note(level, text);
    const folders = () => foldersOf(deps);
    await orHangs({ ...deps, signal, folders, asksFirst: true }, (until) =>
      work({ ...context, signal: until }, part, progress),
    );
  } catch (error) {
    stopped = describeStop(error, signal, log);
    if (stopped.fault !== 'starter_gone') {
      stopped.message = onMachine(stopped.message, member.hostName);
    }
  } finally {
    await end();
  }
  const { empty, failures, unread } = progress;
  const mine = { counters: journal.counters(), empty, failures, unread };
  const ending = { ...context, signal: deps.signal };
  try {
    if (stopped === null && part.hasEnd) await endSharedRun(ending, entered, null);
    else if (stopped !== null && endsUnlisted(part, stopped)) {
      // The others wait for the list. Leave last, so that they do not report this worker as lost instead.
      const { isActive } = await readSharedRun(db, run.id);
      if (isActive) await endSharedRun(ending, entered, stopped);
      await leave(deps, entered);
    } else {
      const others = await leave(deps, entered);
      if (stopped !== null) {
        const { message: errorMessage, exitCode } = stopped;
        // The run may have ended while this worker was stopping.
        const { isActive } = await readSharedRun(db, run.id);
        if (others > 0) {
          const text = `a worker leaves run ${run.id}: ${errorMessage}`;
          if (isActive) await journal.conclude('warn', text);
          return { status: 'left', id: run.id, ...mine, errorMessage, exitCode };
        }
        if (isActive) await endSharedRun(ending, entered, stopped);
      }
    }
    const figures = await readSharedFigures(db, run.id);
    if (figures === null) throw new Error(`run ${run.id} no longer exists`);
    const isNeverListed = figures.fault === 'starter_gone' || figures.fault === 'stale';
    if (!part.isListed && isNeverListed && !deps.signal.aborted) return null;
    return reportShared(run.id, figures, progress, {
      exitCode: stopped?.exitCode ?? null,
      isStopped: (stopped?.stoppedBy ?? null) !== null,
    });
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    // This worker's leases end by themselves, and the others continue.
    const errorMessage = stopped?.message ?? explainUnreachable().message;
    return { status: 'left', id: run.id, ...mine, errorMessage, exitCode: 1 };
  }
}

/** A member's part in a run. */
interface Part {
  entered: EnteredRun;
  given: readonly Source[] | null;
  held: Map<string, string>;
  /** Whether the archive folder is still that of the run: a network mount may disappear during it. */
  hasFolder(): Promise<boolean>;
  /** Whether all jobs are published, as far as this member knows. */
  isListed: boolean;
  /** Whether this member has done the work that follows all jobs. */
  hasEnd: boolean;
}

/** Whether a run ends when this member stops, because no other will list the repositories. */
function endsUnlisted({ entered, isListed }: Part, { fault }: Stop): boolean {
  return !isListed && (entered.member.isStarter || fault === 'starter_gone');
}

/** Lists the repositories if this member is the starter, and works until nothing is left. Throws what stops it. */
async function work(context: RunContext, part: Part, progress: RunProgress): Promise<void> {
  const { journal, target } = context;
  const { entered, given, held, hasFolder } = part;
  const { member, run } = entered;
  const access = openAccess(context);
  const own = new Map<string, Job>();
  if (member.isStarter) {
    const { found, list } = await planRun(context, access, given, progress);
    for (const job of list.jobs) own.set(job.source.name, job);
    const names = found.map(({ name }) => name);
    const rows = describeJobs(
      list,
      names.filter((name) => !own.has(name)),
    );
    await journal.store.read(
      (db) => publishJobs(db, member, rows),
      () => undefined,
    );
    part.isListed = true;
  } else {
    await prepareFolders(context);
    await journal.note('info', `${member.hostName} takes part in run ${run.id}`);
  }
  const onListed = () => {
    part.isListed = true;
    return announceList(context, entered);
  };
  const builder = createJobBuilder(access, target !== null);
  await withTargets(context, access, async (targets) => {
    const jobs: SharedJobs = openSharedJobs({
      ...{ member, journal, builder, own, held, hasFolder, onListed },
      onCounted: ({ done, failed, unread }) =>
        journal.tell({ type: 'counted', done, failed, unread }),
    });
    await backUpEach(context, jobs, targets, progress);
    if (!jobs.hasEnd()) return;
    await targets.tidy(journal.note);
    await concludeJobs(context, entered, held, targets.measured);
    part.hasEnd = true;
  });
}

async function announceList(
  { journal }: RunContext,
  { run: { id }, member }: EnteredRun,
): Promise<void> {
  const all = await journal.store.read(
    (db) => listRunJobs(db, id),
    () => [],
  );
  const listed = all.filter(({ kind }) => kind === 'repository');
  const known = listed.flatMap(({ repository, expectedMs }) =>
    expectedMs === null ? [] : [[repository, Number(expectedMs)] as const],
  );
  const repositories = listed.map(({ repository }) => repository);
  const durations = new Map(known);
  const isJoined = !member.isStarter;
  await journal.tell({ type: 'began', id, isJoined, repositories, durations });
}

/** Gives back this worker's jobs. Returns how many other members are left. */
function leave({ db, clock }: RunDeps, { member }: EnteredRun): Promise<number> {
  const forMs = LAST_PATIENCE_MS;
  return retryWhileUnavailable(() => leaveRun(db, member), { clock, forMs });
}
