import { isDatabaseUnavailable } from '../../database/database.ts';
import type { SealingKeys } from '../../drills/signing-key.ts';
import { AppError, messageOf } from '../../errors.ts';
import {
  type ActiveRun,
  findActiveRun,
  finishRun,
  type StartedRun,
  startRun,
  writeCoversAll,
} from '../../records/recording/runs.ts';
import { cleanText } from '../../text/clean-text.ts';
import { type MachineLease, takeMachineLease } from '../archive/lease/machine-lease.ts';
import { openRunTime } from '../backup/run-time.ts';
import { orHangs } from '../base/answering-folder.ts';
import type { CommandContext } from '../base/command-context.ts';
import type { OutputStream } from '../base/display.ts';
import type { Source } from '../base/source.ts';
import { describeStop, type RunStopped, type Stop, stopMessages } from '../base/stop.ts';
import { type HostAccess, openHostAccess } from '../logins/host-access.ts';
import { type DeliveryRemark, deliverSpools } from '../record/deliver-spools.ts';
import { openRunStore } from '../record/run-store.ts';
import type { RunAlerts } from './alerting/run-alerts.ts';
import { backUpEach, type JobList, listJobs } from './back-up-each.ts';
import { endRun } from './end-run.ts';
import { assignNames, describeWanted, findSources, selectWanted } from './find-sources.ts';
import { followRun } from './follow-run.ts';
import { jobsOf } from './jobs.ts';
import { lookForArchives, recheck, recordLost } from './lost-archives.ts';
import { hostOf } from './order.ts';
import { prepareFolders } from './prepare-folders.ts';
import { claimFulfilled, coversAll, findFailedRequests, type RunExtent } from './requests.ts';
import { newProgress, type RunContext, type RunDeps, type RunProgress } from './run-deps.ts';
import { describeCoverage } from './selection/coverage.ts';
import { storeSnapshot } from './store-snapshot.ts';
import { withTargets } from './targets.ts';
import { createBoard } from './watching/board.ts';
import type { DeadMansSwitch } from './watching/dead-mans-switch.ts';
import { createJsonLines, summaryOf } from './watching/json-lines.ts';
import {
  describeOutcome,
  describeReport,
  type EndedRun,
  nameRun,
  type RunReport,
} from './watching/report.ts';

/** The exit code of a run that was refused because another one is active; sysexits.h calls it EX_TEMPFAIL. */
const REFUSED = 75;

/** What a run on the command line needs. */
export type CommandDeps = Omit<RunDeps, 'watch'> &
  CommandContext & {
    heartbeat: DeadMansSwitch;
    alerts: RunAlerts;
    /** How long the restore drills after the run may take; 0 for none. */
    drillBudgetMs: number;
    /** CREDENTIALS_ENCRYPTION_KEY, which opens the key that signs what the drills prove. */
    signingSecret: SealingKeys;
  };

interface CommandOptions {
  /** `performRun`, or its like for a run that several workers share. */
  perform: typeof performRun;
  stdout: OutputStream;
  isJson: boolean;
}

/** Performs one run, reports it, raises alerts, and then proves archives by restoring them. Returns the exit code. */
export async function runOnce(
  { heartbeat, alerts, drillBudgetMs: budgetMs, ...deps }: CommandDeps,
  given: readonly Source[] | null,
  { perform, stdout, isJson }: CommandOptions,
): Promise<number> {
  const { db, display, clock } = deps;
  deps.signal.throwIfAborted();
  const show = isJson ? createJsonLines(stdout, clock) : createBoard(display, clock);
  let report: RunReport;
  try {
    report = await perform(
      {
        ...deps,
        watch(entry) {
          show(entry);
          heartbeat.watch(entry);
        },
      },
      given,
    );
  } catch (error) {
    await heartbeat.failed(`No run: ${messageOf(error)}`);
    const isAway = isDatabaseUnavailable(error) || isDatabaseUnavailable((error as Error).cause);
    if (isAway) await alerts.databaseUnreachable((error as Error).message);
    throw error;
  }
  display.clear();
  await heartbeat.ended(report);
  stdout.write(`${isJson ? summaryOf(report) : describeReport(report)}\n`);
  await alerts.ended(db, report);
  if (report.status === 'refused') return REFUSED;
  if (report.status !== 'left' && !report.isStopped && budgetMs > 0) {
    const { drillAfterRun } = await import('../drills/after-run.ts');
    const runId = report.isSpooled ? null : report.id;
    await drillAfterRun(deps, runId, { budgetMs, stdout, isJson });
    // Again, because a drill may have failed.
    await alerts.ended(db, report);
  }
  return report.exitCode;
}

/**
 * Backs up `given`, or the repositories found by discovery, and records the run. Refused while another run is
 * active. A failed repository does not stop it, nor does an unreachable database: the run is then spooled, and the
 * next one delivers it. Throws only if the run could not be started.
 */
export async function performRun(
  deps: RunDeps,
  given: readonly Source[] | null,
): Promise<RunReport> {
  const { dataFolder } = deps;
  const lease = await takeMachineLease(dataFolder);
  if ('busy' in lease) {
    const { holder } = lease;
    if (lease.busy) return { status: 'refused', active: await findActive(deps), why: null, holder };
    throw new AppError('SERVICE_UNAVAILABLE', `DATA_DIR cannot be used: ${lease.reason}`);
  }
  let isEnded = false;
  try {
    const { remarks, started } = await start(deps, given, lease.abandoned);
    if (started !== null && 'active' in started) {
      for (const { text } of remarks) deps.display.line(text);
      return { status: 'refused', active: started.active, why: null, holder: null };
    }
    // A run without a row is not noted: the note still names the run that was killed before, for the next run to end.
    if (started !== null) await noteOrEnd(deps, lease, started);
    const { isRecorded, ...report } = await recordRun(deps, started, given, { lease, remarks });
    isEnded = started !== null && isRecorded;
    return report;
  } finally {
    lease.release(isEnded);
  }
}

/** Does the work of a run, and records its end. */
async function recordRun(
  deps: RunDeps,
  run: StartedRun | null,
  given: readonly Source[] | null,
  { lease, remarks }: { lease: MachineLease; remarks: readonly DeliveryRemark[] },
): Promise<EndedRun & { isRecorded: boolean }> {
  const { clock } = deps;
  const began = clock.now();
  const ending = new AbortController();
  const signal = AbortSignal.any([deps.signal, ending.signal]);
  const stop = (error: unknown) => ending.abort(error);
  const { machine } = lease;
  const { journal, end } = await followRun(
    deps,
    (watch) => openRunStore({ ...deps, watch, run, machine, signal }),
    { stop, taken: stopMessages.taken },
  );
  const progress = newProgress(given ?? []);
  let stopped: Stop | null = null;
  try {
    for (const { level, text } of remarks) await journal.note(level, text);
    // Only a member of a shared run can lose the archives to another worker: there is nothing to check.
    const checkLease = () => Promise.resolve();
    const time = openRunTime(clock, journal);
    const context = { ...deps, journal, signal, stop, time, checkLease, hostName: null };
    const folders = () => foldersOf(deps);
    await orHangs({ ...deps, signal, folders, asksFirst: true }, (until) =>
      backUp({ ...context, signal: until }, given, progress),
    );
  } catch (error) {
    stopped = describeStop(error, signal, deps.log);
  } finally {
    await end();
    deps.watch({ type: 'closed' });
  }
  const counters = journal.counters();
  const outcome = describeOutcome(counters, progress);
  const failedRequests = findFailedRequests(progress.requests, progress.sources, progress.failed);
  const ended = await endRun(deps, journal, {
    status: stopped === null ? 'completed' : 'failed',
    errorMessage: stopped?.message ?? outcome.errorMessage,
    stoppedBy: stopped?.stoppedBy ?? null,
    fault: stopped?.fault ?? null,
    counters,
    failedRequests,
    requests: progress.requests.map(({ id }) => id),
    lastLine: stopped?.message ?? outcome.lastLine,
  });
  const { total, empty, lost, failures, unread } = progress;
  const isGood =
    ended.status === 'completed' && counters.failed === 0 && lost === 0 && unread.length === 0;
  return {
    counters,
    ...{ total, empty, lost, failures, unread },
    isStopped: stopped !== null && stopped.stoppedBy !== null,
    durationMs: clock.now() - began,
    exitCode: stopped?.exitCode ?? (isGood ? 0 : (progress.exitCode ?? 1)),
    ...ended,
  };
}

/** Where a run writes on this machine. Not the stores: one that hangs fails alone, and the run goes on. */
export function foldersOf({ archiveFolder, mirrorFolder, dataFolder }: RunDeps): string[] {
  return [archiveFolder, mirrorFolder, dataFolder];
}

/** Backs up each repository, copies the archives, and measures. Throws whatever stops the run. */
async function backUp(
  run: RunContext,
  given: readonly Source[] | null,
  progress: RunProgress,
): Promise<void> {
  const { journal } = run;
  const access = openAccess(run);
  const { found, list } = await planRun(run, access, given, progress);
  const id = journal.store.run?.id ?? null;
  const repositories = progress.sources.map(({ name }) => name);
  const { durations } = list;
  await journal.tell({ type: 'began', id, isJoined: false, repositories, durations });
  await withTargets(run, access, async (targets) => {
    const jobs = jobsOf(list.jobs, ({ source }) => hostOf(source));
    await backUpEach(run, jobs, targets, progress);
    await targets.tidy(journal.note);
    // The archives of excluded repositories are still there.
    const names = found.map(({ name }) => name);
    await storeSnapshot(run, names, targets.measured);
  });
}

/** The work of a run. */
interface RunPlan {
  /** All sources, including excluded ones: their archives count towards the figures. */
  found: readonly Source[];
  list: JobList;
}

/** Finds and selects what is backed up, claims the requests for it, and checks the archives that are there. */
export async function planRun(
  run: RunContext,
  access: HostAccess,
  given: readonly Source[] | null,
  progress: RunProgress,
): Promise<RunPlan> {
  const { journal } = run;
  const what = describeWanted(given, run);
  await journal.note('info', `${nameRun(journal.store.run)} started: ${what}`);
  await prepareFolders(run);
  const lost = await lookForArchives(run);

  const { note, store } = journal;
  const missed = (names: readonly string[], listed: number) =>
    journal.tell({ type: 'missing', names, listed });
  const finding = { deps: run, access, remembers: true, note, read: store.read, missed };
  const { unread, isComplete, fault, ...named } = await findSources(finding, given);
  if (fault !== null) await tellUndiscovered(run, access, fault, progress);
  const found = await assignNames(run, named.sources);

  const selected = await selectWanted(run, found);
  const { selected: sources, leftOut } = selected;
  progress.sources = sources;
  progress.total = sources.length;
  if (unread !== null) {
    const repositories = describeCoverage(selected, unread, run.target !== null);
    await journal.tell({ type: 'coverage', repositories });
  }
  await journal.tell({ type: 'total', totalRepos: sources.length });

  await noteWhetherAll(run, { sources, leftOut, isComplete });
  progress.requests = await claimFulfilled({ journal, sources, leftOut, isComplete });

  await recordLost(run, lost, progress);
  const checked = await recheck(run, sources, lost, progress);
  return { found, list: await listJobs(journal.store, sources, checked) };
}

/** Tells that nothing could be discovered, while other sources are backed up: a source that could not be read. */
async function tellUndiscovered(
  { journal }: RunContext,
  { connection }: HostAccess,
  fault: RunStopped,
  progress: RunProgress,
): Promise<void> {
  const source = connection.hostUrl;
  const reason = cleanText(fault.message);
  const message = `the source ${source} cannot be read: ${reason}`;
  const { total: totalRepos } = progress;
  await journal.tell({ type: 'unread', repository: source, source, reason, message, totalRepos });
  progress.unread.push({ source, kind: 'login', errorMessage: reason });
  progress.exitCode = fault.exitCode;
}

/** Records whether the run backs up all repositories: other schedulers then need not. */
async function noteWhetherAll({ journal, clock }: RunContext, extent: RunExtent): Promise<void> {
  const now = new Date(clock.now()).toISOString();
  await journal.store.read(
    async (db, { id }) => writeCoversAll(db, id, await coversAll(db, extent, now)),
    () => undefined,
  );
}

/** The access of a run to the git host. */
export function openAccess({ gitHost, clock, signal, display }: RunDeps): HostAccess {
  return openHostAccess(gitHost, { ...gitHost, clock, signal }, display.line);
}

/** Delivers earlier runs and starts one. `started` is null if the database is unreachable: the run then has no row. */
async function start(
  deps: RunDeps,
  given: readonly Source[] | null,
  abandoned: StartedRun | null,
): Promise<{
  remarks: DeliveryRemark[];
  started: Awaited<ReturnType<typeof startRun>> | null;
}> {
  const { db, dataFolder } = deps;
  const { staleAfterMs, scheduleMs, scheduleId } = deps;
  const { isAway, remarks } = await deliverSpools(deps, dataFolder);
  if (isAway) return { remarks, started: null };
  try {
    const totalRepos = given?.length ?? 0;
    return {
      remarks,
      started: await startRun(db, {
        ...{ totalRepos, staleAfterMs, abandoned, scheduleMs, scheduleId },
      }),
    };
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return { remarks, started: null };
  }
}

/** Notes a run, or ends it if that fails: without a note it would stay open until it counts as abandoned. */
async function noteOrEnd({ db }: RunDeps, lease: MachineLease, started: StartedRun): Promise<void> {
  try {
    await lease.note(started);
  } catch (error) {
    const reason = `DATA_DIR cannot be written: ${(error as Error).message}`;
    const counters = { successful: 0, failed: 0, skipped: 0 };
    const ending = { id: started.id, counters, failedRequests: [] };
    await finishRun(db, { ...ending, status: 'failed', errorMessage: cleanText(reason) });
    throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
  }
}

async function findActive({ db, staleAfterMs }: RunDeps): Promise<ActiveRun | null> {
  try {
    return await findActiveRun(db, staleAfterMs);
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return null;
  }
}
