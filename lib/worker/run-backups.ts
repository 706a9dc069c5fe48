import { resolve } from 'node:path';
import * as z from 'zod';
import { alertSendingVariables } from '../config/alert-channels.ts';
import { alertRuleVariables } from '../config/alert-rules.ts';
import {
  archivePath,
  archiveVariables,
  mirrorFolder,
  versionVariables,
} from '../config/archives.ts';
import { sweepVariables } from '../config/backups.ts';
import { freshnessVariables } from '../config/freshness.ts';
import { configFolder, gitApiUrl, gitHostVariables } from '../config/git-host.ts';
import { readConfig } from '../config/read.ts';
import { configuredSecrets } from '../config/secrets.ts';
import { sourceVariables } from '../config/sources.ts';
import { storeVariables } from '../config/stores.ts';
import { workerVariables } from '../config/worker.ts';
import { AppError, messageOf } from '../errors.ts';
import { checkGit } from '../git/git-version.ts';
import { createLog, type Log } from '../log/log.ts';
import { listPendingRequests } from '../records/recording/requests.ts';
import { findSchedule } from '../records/schedules/schedules.ts';
import { createRedactor } from '../security/redaction/redactor.ts';
import {
  type CommandContext,
  contextVariables,
  type WorkerOptions,
  withDatabase,
} from './base/command-context.ts';
import type { Display } from './base/display.ts';
import type { RunCommand } from './command-line.ts';
import { openLoginStore } from './logins/login-store.ts';
import { hasSourceToken } from './logins/token-source.ts';
import { readTarget } from './offsite/destination/target.ts';
import type { OffsiteConfig } from './offsite/offsite.ts';
import { watchLogin } from './run/alerting/login-watch.ts';
import { openRunAlerts } from './run/alerting/run-alerts.ts';
import { requireLogin } from './run/discovery/require-login.ts';
import { performDryRun } from './run/dry-run.ts';
import { performSharedRun } from './run/fleet/perform-shared-run.ts';
import { performRun, runOnce } from './run/run.ts';
import type { RunDeps } from './run/run-deps.ts';
import { readSelection } from './run/selection/select.ts';
import { createDeadMansSwitch } from './run/watching/dead-mans-switch.ts';

const runVariables = z.object({
  ...contextVariables,
  ...archiveVariables.shape,
  ...sourceVariables.shape,
  ...workerVariables.shape,
  ...gitHostVariables.shape,
  ...versionVariables.shape,
  ...storeVariables.shape,
  ...freshnessVariables.shape,
  ...alertRuleVariables.shape,
  ...alertSendingVariables.shape,
  STALE_RUN_AFTER_MINUTES: sweepVariables.shape.STALE_RUN_AFTER_MINUTES,
});

/** `run`: backs up, once or repeatedly. Returns the exit code. */
export async function runBackups(options: WorkerOptions, command: RunCommand): Promise<number> {
  const { environment, io, keychain } = options;
  const { sources, everyMs } = command;
  const config = readConfig(runVariables, environment);
  const target = readTarget(config.BACKUP_REPO_PATH, options.folder);
  await checkGit(environment, options.signal);
  let hasDatabase = false;
  const redactor = createRedactor(configuredSecrets(environment));
  const openHeartbeat = (tell: (text: string) => void) =>
    createDeadMansSwitch(config.HEARTBEAT_URL ?? null, { ...options, redactor, tell });
  const login = watchLogin(options.fetch, [config.GIT_HOST_URL, gitApiUrl(config)]);
  const openStore = (notify: (text: string) => void) =>
    openLoginStore({ folder: configFolder(config, environment), keychain, notify });
  const openAlerts = (log: Log, tell: (text: string) => void) =>
    openRunAlerts({
      hasLogin: () => hasSourceToken({ config, store: openStore(tell) }),
      ...{ ...options, config, login, log, tell, gitHostUrl: config.GIT_HOST_URL },
      ...{ archiveFolder: archivePath(config), dataFolder: resolve(config.DATA_DIR) },
    });
  const withContext = async (context: CommandContext) => {
    hasDatabase = true;
    const heartbeat = openHeartbeat(context.display.line);
    const alerts = openAlerts(context.log, context.display.line);
    const task = await readTask(context, command);
    if (task === null) {
      io.stdout.write('No run: nobody has asked for one.\n');
      return 0;
    }
    const deps = {
      ...context,
      target,
      archiveFolder: archivePath(config),
      mirrorFolder: mirrorFolder(config),
      retention: config.BACKUP_KEEP,
      recheckBudgetMs: config.VERIFY_BUDGET_MINUTES * 60_000,
      incrementsFromBytes: inBytes(config.BACKUP_INCREMENTS_FROM_MIB),
      layout: config.BACKUP_REPO_LAYOUT ?? null,
      maxTargetBytes: inBytes(config.BACKUP_REPO_MAX_SIZE),
      dataFolder: resolve(config.DATA_DIR),
      concurrency: config.BACKUP_CONCURRENCY,
      selection: readSelection({ ...command, only: task.only }, config),
      named: { configured: config.BACKUP_SOURCES, ids: task.sourceIds },
      mayStartOver: command.mayStartOver,
      staleAfterMs: config.STALE_RUN_AFTER_MINUTES * 60_000,
      // At a terminal, a single run was started by a person.
      scheduleMs: task.scheduleMs ?? everyMs ?? (io.isTerminal ? 0 : null),
      scheduleId: command.schedule,
      stores: offsiteConfig(config),
      gitHost: {
        config,
        store: openStore(context.display.line),
        fetch: login.fetch,
        noteRenewable: login.noteRenewable,
      },
    };
    if (sources === null) await requireLogin(deps, command.isShared);
    if (command.isDryRun) {
      await performDryRun(deps, sources, { stdout: io.stdout, isJson: command.isJson });
      return 0;
    }
    const drillBudgetMs = config.DRILL_BUDGET_MINUTES * 60_000;
    const once = () => {
      login.reset();
      const signingSecret = config.CREDENTIALS_ENCRYPTION_KEY;
      return runOnce({ ...deps, heartbeat, alerts, drillBudgetMs, signingSecret }, sources, {
        perform: command.isShared ? performSharedRun : performRun,
        ...{ stdout: io.stdout, isJson: command.isJson },
      });
    };
    return everyMs === null ? once() : runRepeatedly(deps, once, everyMs);
  };
  const mayBeAway = !command.isDryRun && !command.isShared;
  try {
    return await withDatabase(options, config, withContext, { mayBeAway });
  } catch (error) {
    if (!hasDatabase && !command.isDryRun) {
      const tell = (text: string) => void io.stderr.write(`${text}\n`);
      await openHeartbeat(tell).failed(whyNoRun(error));
      const log = createLog(config.LOG_LEVEL, options.clock, tell, redactor);
      if (isServiceUnavailable(error))
        await openAlerts(log, tell).databaseUnreachable(error.message);
    }
    throw error;
  }
}

/** What a run is for, besides its options. */
interface RunTask {
  /** Patterns of the only repositories; null for all. */
  only: readonly string[] | null;
  /** The ids of the only sources; null for all. */
  sourceIds: readonly number[] | null;
  /** As in RunDeps; null if the options decide. */
  scheduleMs: number | null;
}

/** Reads what a schedule says, or what people have asked for; null if that is nothing. Throws NOT_FOUND. */
async function readTask({ db }: CommandContext, command: RunCommand): Promise<RunTask | null> {
  const { schedule: id, isRequested, only, sourceIds } = command;
  if (id !== null) {
    const schedule = await findSchedule(db, id);
    if (schedule === null) throw new AppError('NOT_FOUND', `there is no schedule ${id}`);
    const { sources, interval_ms } = schedule;
    // The time between runs of some sources says nothing about the others.
    return { only, sourceIds: sources, scheduleMs: sources === null ? interval_ms : 0 };
  }
  if (!isRequested) return { only, sourceIds, scheduleMs: null };
  const requests = await listPendingRequests(db);
  if (requests.length === 0) return null;
  const targets = requests.map(({ target }) => target);
  const isForAll = targets.includes(null);
  const wanted = isForAll ? null : targets.filter((target) => target !== null);
  return { only: wanted, sourceIds: null, scheduleMs: 0 };
}

function whyNoRun(error: unknown): string {
  return `No run: ${messageOf(error)}`;
}

function isServiceUnavailable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'SERVICE_UNAVAILABLE';
}

function inBytes(mib: number | undefined): number | null {
  return mib === undefined ? null : mib * 2 ** 20;
}

function offsiteConfig(config: z.output<typeof storeVariables>): OffsiteConfig {
  return {
    addresses: config.BACKUP_STORES,
    needed: config.BACKUP_STORES_NEEDED ?? null,
    bytesPerSecond: inBytes(config.BACKUP_STORES_MIB_PER_SECOND),
    recipients: config.BACKUP_AGE_RECIPIENTS,
    namesKey: config.BACKUP_NAMES_KEY ?? null,
  };
}

/** Runs until the signal aborts, which is a failure only during a run. */
async function runRepeatedly(
  { clock, display, signal }: Pick<RunDeps, 'clock' | 'display' | 'signal'>,
  once: () => Promise<number>,
  everyMs: number,
): Promise<number> {
  for (;;) {
    const next = clock.now() + everyMs;
    const code = await attempt(once, display);
    if (signal.aborted) return code;
    try {
      await clock.sleep(Math.max(0, next - clock.now()), signal);
    } catch (error) {
      if (signal.aborted) return 0;
      throw error;
    }
  }
}

/** Reports an unavailable database without ending: it may be back for the next run. */
async function attempt(run: () => Promise<number>, display: Display): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!isServiceUnavailable(error)) throw error;
    display.line(`no run: ${error.message}`);
    return 1;
  }
}
