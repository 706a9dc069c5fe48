import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { openMailboxes } from '../../../alerts/channels/mailboxes.ts';
import { openAlertChannels } from '../../../alerts/channels/open-channels.ts';
import {
  alertDatabaseUnreachable,
  recordDatabaseBack,
} from '../../../alerts/outage/database-outage.ts';
import { rememberInFolder } from '../../../alerts/outage/folder-memory.ts';
import { raiseAlerts } from '../../../alerts/raise-alerts.ts';
import type { AlertRulesConfig } from '../../../alerts/rules/rule.ts';
import type { AlertChannel } from '../../../channels/channel.ts';
import type { Clock } from '../../../clock.ts';
import type { AlertSendingConfig } from '../../../config/alert-channels.ts';
import type { FreshnessConfig } from '../../../config/freshness.ts';
import { type Database, isDatabaseUnavailable } from '../../../database/database.ts';
import type { Log } from '../../../log/log.ts';
import { doesAnswer } from '../../../processes/file-calls.ts';
import { recordDiskRoom } from '../../../records/recording/archive-disks.ts';
import { recordHostLogin } from '../../../records/recording/host-logins.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { identify } from '../../archive/lease/machine-lease.ts';
import type { RunReport } from '../watching/report.ts';
import type { LoginWatch } from './login-watch.ts';

/** What is needed to raise alerts after a run. */
export interface RunAlertsOptions {
  config: AlertRulesConfig & AlertSendingConfig & FreshnessConfig;
  clock: Clock;
  log: Log;
  fetch: typeof fetch;
  /** Prints a line. */
  tell(text: string): void;
  dataFolder: string;
  archiveFolder: string;
  gitHostUrl: string;
  login: LoginWatch;
  /** Whether there is a login or a token for discovery. */
  hasLogin(): Promise<boolean>;
  /** Has aborted after Ctrl-C. */
  signal: AbortSignal;
}

/** How long the archive folder may take to answer before its free space is measured. */
const MAX_ANSWER_MS = 3_000;

/** Raises alerts after runs. Failing to do so never fails a run. */
export interface RunAlerts {
  /** Records what a run learnt, evaluates the rules and notifies the channels. */
  ended(db: Database, report: RunReport): Promise<void>;
  /** Alerts that there was no run because the database is unreachable. */
  databaseUnreachable(reason: string): Promise<void>;
}

/** Opens the alerts of a worker. Nothing is read or sent yet. */
export function openRunAlerts(options: RunAlertsOptions): RunAlerts {
  const { config, clock, log, fetch, tell, dataFolder, signal } = options;
  const outage = {
    memory: rememberInFolder(dataFolder, (error) =>
      log.error('the state of database outage alerts could not be saved', { error }),
    ),
    who: `The worker on ${cleanText(hostname(), 250)}`,
    clock,
    tell,
  };

  // Without the key to the stored addresses, leave those channels to the server: a failure here would be final.
  const canRead = config.CREDENTIALS_ENCRYPTION_KEY !== undefined;
  const openChannels = (db: Database | null): Promise<AlertChannel[]> =>
    openAlertChannels(config, { db: canRead ? db : null, fetch, clock });

  async function databaseUnreachable(reason: string): Promise<void> {
    // After Ctrl-C, do not wait.
    if (signal.aborted) return;
    try {
      await alertDatabaseUnreachable(outage, await openChannels(null), { reason, toleratedMs: 0 });
    } catch (error) {
      log.error('the alert about the database was not sent', { error });
      tell(`the alert about the database was not sent: ${cleanText((error as Error).message)}`);
    }
  }

  async function ended(db: Database, report: RunReport): Promise<void> {
    if (report.status === 'left' || signal.aborted) return;
    if (report.status !== 'refused' && report.isSpooled)
      return databaseUnreachable(
        'it did not answer: the run went on, and its results wait on this machine',
      );
    try {
      await recordDatabaseBack(db, outage);
      // The run that refused this one may take unusually long.
      if (report.status !== 'refused') await recordLoginAndDisk(db, report);
      const channels = await openChannels(db);
      const mailboxes = openMailboxes(config, { fetch, clock });
      await raiseAlerts({ db, clock, log, config, channels, mailboxes });
    } catch (error) {
      if (isDatabaseUnavailable(error)) return databaseUnreachable('it did not answer after a run');
      log.error('alerts could not be raised', { error });
      tell('alerts could not be raised: the server will try within 10 minutes');
    }
  }

  /** If this fails, the rules about the login and the disk keep their earlier data. */
  async function recordLoginAndDisk(db: Database, report: FinishedReport): Promise<void> {
    try {
      await noteLogin(db, options, report);
      await noteDisk(db, options);
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      log.error('the state of the login and the disk after a run was not recorded', { error });
    }
  }

  return { ended, databaseUnreachable };
}

type FinishedReport = Exclude<RunReport, { status: 'refused' | 'left' }>;

async function noteLogin(
  db: Database,
  { clock, gitHostUrl, login, hasLogin }: RunAlertsOptions,
  report: FinishedReport,
): Promise<void> {
  const seen = login.seen();
  // Without a login, no host can have refused one: the failed run itself says that it is missing.
  const mustLogIn = report.exitCode === 4 && (await hasLogin());
  if (seen === null && !mustLogIn) return;
  const isRefused = mustLogIn || seen?.isRefused === true;
  const isFailed = report.status === 'failed';
  const reason = isFailed ? report.errorMessage : `${gitHostUrl} refuses the login`;
  await recordHostLogin(
    db,
    {
      ...{ gitHostUrl, expiresAt: seen?.expiresAt ?? null, refused: isRefused ? reason : null },
      runId: isRefused && isFailed ? report.id : null,
    },
    clock.now(),
  );
}

async function noteDisk(
  db: Database,
  { clock, archiveFolder, dataFolder }: RunAlertsOptions,
): Promise<void> {
  const machine = await identify(dataFolder);
  // One that hangs has failed the run.
  if (!(await doesAnswer(archiveFolder, MAX_ANSWER_MS))) return;
  const { bavail, blocks, bsize } = await statfs(archiveFolder);
  const hostName = cleanText(hostname(), 250);
  const room = { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  await recordDiskRoom(db, { machine, hostName, ...room }, clock.now());
}
