import { orAborted } from '../../async.ts';
import { isDatabaseUnavailable } from '../../database/database.ts';
import { AppError } from '../../errors.ts';
import { readSharedFigures } from '../../records/fleet/ending.ts';
import { listRunJobs, publishJobs, readSharedRun } from '../../records/fleet/jobs.ts';
import { leaveRun } from '../../records/fleet/members.ts';
import { findActiveRun } from '../../records/recording/runs.ts';
import { openJournal } from '../journal.ts';
import { startHeartbeat } from '../lease/heartbeat.ts';
import { takeMachineLease } from '../lease/machine-lease.ts';
import { retryWhileUnavailable } from '../retry.ts';
import {
  openAccess,
  planRun,
  prepareFolders,
  type RunContext,
  type RunProgress,
  workOn,
} from '../running/back-up.ts';
import { withPlaces } from '../running/places.ts';
import type { RunReport } from '../running/report.ts';
import type { RunDeps } from '../running/run-deps.ts';
import type { Job } from '../schedule/attempt.ts';
import type { Source } from '../source.ts';
import { type DeliveryRemark, deliverSpools } from '../spool/deliver-spools.ts';
import { describeStop, RunStopped } from '../stop.ts';
import { createProgressWriter } from '../watching/progress-writer.ts';
import { tellAll } from '../watching/run-events.ts';
import { concludeJobs, endSharedRun, reportShared } from './end-shared-run.ts';
import { type EnteredRun, findOrStart } from './enter-run.ts';
import { hasFolderToken } from './folder-token.ts';
import { describeJobs } from './job-facts.ts';
import { watchLease } from './lease-watch.ts';
import { openMemberStore } from './member-store.ts';
import { createJobBuilder } from './rebuild-source.ts';
import { openSharedJobs, type SharedJobs } from './shared-jobs.ts';

/** How long a worker that stops waits for the database, even after Ctrl-C. */
const LAST_PATIENCE_MS = 5_000;
const TAKEN = 'the run was ended, or others have taken over what this worker held';

/**
 * Takes part in the run that workers of several machines share, or starts it: then it lists the repositories,
 * `given` or those found by discovery. Refused while a worker runs alone. Throws SERVICE_UNAVAILABLE if the database
 * is away, or the archive folder is not that of the run.
 */
export async function performSharedRun(
  deps: RunDeps,
  given: readonly Source[] | null,
): Promise<RunReport> {
  const lease = await takeMachineLease(deps.dataFolder);
  if ('busy' in lease) {
    if (!lease.busy) {
      throw new AppError('SERVICE_UNAVAILABLE', `DATA_DIR cannot be used: ${lease.reason}`);
    }
    const active = await needDatabase(() => findActiveRun(deps.db, deps.staleAfterMs));
    return { status: 'refused', active, why: 'another worker uses the same DATA_DIR' };
  }
  // No note says which run it is: others go on with it if this worker is killed.
  let hasEntered = false;
  try {
    const { isAway, remarks } = await deliverSpools(deps, deps.dataFolder);
    if (isAway) throw databaseAway();
    const entered = await needDatabase(() => findOrStart(deps, lease, given));
    if ('why' in entered) {
      for (const { text } of remarks) deps.display.line(text);
      return { status: 'refused', ...entered };
    }
    hasEntered = true;
    return await takePart(deps, entered, given, remarks);
  } finally {
    // The run of a killed worker that was noted here is not active any more.
    lease.release(hasEntered);
  }
}

function databaseAway(cause?: unknown): AppError {
  const text = 'the database is away, and --join needs it: without --join a run can do without';
  return new AppError('SERVICE_UNAVAILABLE', text, { cause });
}

async function needDatabase<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw isDatabaseUnavailable(error) ? databaseAway(error) : error;
  }
}

async function takePart(
  deps: RunDeps,
  entered: EnteredRun,
  given: readonly Source[] | null,
  remarks: readonly DeliveryRemark[],
): Promise<RunReport> {
  const { clock, db, log } = deps;
  const { run, member } = entered;
  const lost = new AbortController();
  const signal = AbortSignal.any([deps.signal, lost.signal]);
  const stop = (error: unknown) => lost.abort(error);
  const held = new Map<string, string>();
  const watch = watchLease(clock);
  const store = openMemberStore({ db, clock, run, member, watch, held, signal });
  const activity = createProgressWriter({
    clock,
    write: (at) => store.show(at),
    // The heartbeat notices a database that stays away.
    onError: (error) => log.debug('the progress of a run could not be stored', { error }),
  });
  const events = tellAll([deps.events, activity]);
  const journal = openJournal({ store, clock, events });
  const heartbeat = startHeartbeat({
    clock,
    beat: () => journal.beat(activity.current()),
    onTaken: () => stop(new RunStopped(TAKEN)),
    // Before the leases end, so that others never work on the same repository.
    onUnreachable: () => void store.spool().catch(stop),
  });
  const progress: RunProgress = {
    ...{ requests: [], sources: [], failed: new Set(), failures: [] },
    empty: 0,
  };
  const context = {
    ...deps,
    events,
    journal,
    signal,
    stop,
    checkLease: watch.check,
    isShared: true,
  };
  const part: Part = { entered, given, held, isListed: !member.isStarter, hasEnd: false };
  let stopped: { message: string; exitCode: number } | null = null;
  try {
    for (const { level, text } of remarks) await journal.note(level, text);
    await work(context, part, progress);
  } catch (error) {
    const message = describeStop(error, signal, log);
    stopped = { message, exitCode: error instanceof RunStopped ? error.exitCode : 1 };
  } finally {
    await heartbeat.stop();
    events.closed();
  }
  const mine = { counters: journal.counters(), empty: progress.empty, failures: progress.failures };
  const end = { ...context, signal: deps.signal };
  try {
    if (stopped === null && part.hasEnd) await endSharedRun(end, entered, null);
    else if (stopped !== null && !part.isListed) {
      // The others wait for its list. It leaves last, so that they do not report it as gone instead.
      const { isActive } = await readSharedRun(db, run.id);
      if (isActive) await endSharedRun(end, entered, stopped.message);
      await leave(deps, entered);
    } else {
      const others = await leave(deps, entered);
      if (stopped !== null && others === 0) {
        // It may have ended while this worker was stopping.
        const { isActive } = await readSharedRun(db, run.id);
        if (isActive) await endSharedRun(end, entered, stopped.message);
      } else if (stopped !== null) {
        const { message: errorMessage, exitCode } = stopped;
        return { status: 'left', id: run.id, ...mine, errorMessage, exitCode };
      }
    }
    const figures = await readSharedFigures(db, run.id);
    if (figures === null) throw new Error(`run ${run.id} is gone`);
    return reportShared(run.id, figures, progress.failures, stopped?.exitCode ?? null);
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    // Its leases end by themselves, and the others go on.
    const errorMessage = stopped?.message ?? databaseAway().message;
    return { status: 'left', id: run.id, ...mine, errorMessage, exitCode: 1 };
  }
}

/** A member's part in a run. */
interface Part {
  entered: EnteredRun;
  given: readonly Source[] | null;
  held: Map<string, string>;
  /** Whether all jobs are published. */
  isListed: boolean;
  /** Whether this member has done what comes after all jobs. */
  hasEnd: boolean;
}

/** Lists the repositories if need be, and works until nothing is left. Throws what stops this member. */
async function work(context: RunContext, part: Part, progress: RunProgress): Promise<void> {
  const { journal, target, events } = context;
  const { entered, given, held } = part;
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
  const onListed = () => tellList(context, run.id);
  const builder = createJobBuilder(access, target !== null);
  await withPlaces(context, access, async (places) => {
    const jobs: SharedJobs = openSharedJobs({
      ...{ member, journal, builder, own, held, onListed },
      hasFolder: () =>
        orAborted(context.signal, () => hasFolderToken(context.archiveFolder, entered.token)),
      onCounted: events.counted,
    });
    await workOn(context, jobs, places, progress);
    if (!jobs.hasEnd()) return;
    await places.tidy(journal.note);
    await concludeJobs(context, entered, held, places.measured);
    part.hasEnd = true;
  });
}

async function tellList({ events, journal }: RunContext, id: number): Promise<void> {
  const all = await journal.store.read(
    (db) => listRunJobs(db, id),
    () => [],
  );
  const listed = all.filter(({ kind }) => kind === 'repository');
  const known = listed.flatMap(({ repository, expectedMs }) =>
    expectedMs === null ? [] : [[repository, Number(expectedMs)] as const],
  );
  const repositories = listed.map(({ repository }) => repository);
  events.began({ id, repositories, durations: new Map(known) });
}

/** Gives back what this worker holds. Returns how many others are left. */
function leave({ db, clock }: RunDeps, { member }: EnteredRun): Promise<number> {
  const forMs = LAST_PATIENCE_MS;
  return retryWhileUnavailable(() => leaveRun(db, member), { clock, forMs });
}
