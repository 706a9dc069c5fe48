import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type DatabaseConfig, databaseVariables } from '../../lib/config/database.ts';
import type { Database } from '../../lib/database/database.ts';
import { DirectoryInUse } from '../../lib/database/embedded/data-directory.ts';
import { isNeonHost, openDatabase } from '../../lib/database/open.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { createLog } from '../../lib/log/log.ts';
import { ping } from '../../lib/records/ping.ts';
import { urlOfRunningServer } from '../database.ts';
import { checkBackups } from './backups.ts';
import { checkContent } from './database-content.ts';
import { checkDrillLedger } from './drill-ledger.ts';
import { reasonOf, timed, withinLimit } from './measuring.ts';
import { type Check, type CheckFinding, failed, ok, toCheck, warning } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const CONNECT_WITHIN_MS = 6_000;
/** The embedded database starts in this process. */
const START_WITHIN_MS = 60_000;
const silentLog = (subject: Subject) => createLog('error', subject.clock, () => undefined);

/** Checks the database and its content. */
export async function checkDatabase(subject: Subject): Promise<Check[]> {
  const checks: Check[] = [];
  const found = await withConfig(databaseVariables, subject, async (config) => {
    if (config.DATABASE_URL !== undefined) {
      return checkServer(subject, checks, {
        url: config.DATABASE_URL,
        ...describeUrl(config.DATABASE_URL, subject),
      });
    }
    if (subject.isHosted) {
      return failed(
        'DATABASE_URL is not set: everything that needs the database returns 503',
        'create a Postgres database, and set DATABASE_URL to its postgres:// URL',
      );
    }
    return checkEmbedded(subject, checks, config);
  });
  return [toCheck('database', found), ...checks];
}

/** Describes a URL before connecting. */
function describeUrl(url: string, { isHosted }: Subject): Pick<Opening, 'name' | 'fault'> {
  const { hostname, searchParams } = new URL(url);
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\]|)$/.test(hostname);
  if (isNeonHost(hostname)) return { name: `Neon, ${hostname}` };
  const name = `Postgres, ${hostname || 'over a socket'}`;
  if (isHosted && isLocal) {
    return {
      name,
      fault: failed(
        'DATABASE_URL points to this machine, which a deployed function cannot reach',
        'set DATABASE_URL to a Postgres on the network',
      ),
    };
  }
  const mode = searchParams.get('sslmode');
  if (isLocal || (mode !== null && mode !== 'disable')) return { name };
  return {
    name,
    fault: warning(
      `${name}: the connection is not encrypted`,
      'add ?sslmode=verify-full to DATABASE_URL',
    ),
  };
}

interface Opening {
  url: string;
  /** The database's name in the report. */
  name: string;
  /** A problem even if the database responds. */
  fault?: CheckFinding;
}

async function checkServer(
  subject: Subject,
  checks: Check[],
  { url, name, fault }: Opening,
): Promise<CheckFinding> {
  const db = await openDatabase({
    url,
    fetch: subject.fetch,
    log: silentLog(subject),
    maxConnections: 1,
  });
  try {
    const found = await withinLimit(
      CONNECT_WITHIN_MS,
      subject.clock,
      async () => {
        // The first ping connects.
        await ping(db);
        const { latency_ms } = await timed(() => ping(db));
        checks.push(...(await checkContent(subject, db)));
        return { ...ok(name), ...fault, latency_ms };
      },
      (reason) =>
        fault?.status === 'failed'
          ? fault
          : failed(`${name}: ${reason}`, 'correct DATABASE_URL, or start that database'),
    );
    checks.push(...(await checkMigrated(subject, db, checks)));
    return found;
  } finally {
    await db.close();
  }
}

/** What can be checked only in a database that has all migrations. */
async function checkMigrated(
  subject: Subject,
  db: Database,
  checks: readonly Check[],
): Promise<Check[]> {
  if (!checks.some(({ name, status }) => name === 'migrations' && status === 'ok')) return [];
  const found = await Promise.all([checkDrillLedger(db), checkBackups(subject, db)]);
  return found.flat();
}

/** Checks the embedded database of a running server, else the one in DATA_DIR. Never creates one. */
async function checkEmbedded(
  subject: Subject,
  checks: Check[],
  config: DatabaseConfig,
): Promise<CheckFinding> {
  const url = await urlOfRunningServer(config);
  const folder = relative('.', config.DATA_DIR) || '.';
  if (url !== null) {
    const name = `embedded, in ${folder}, of the running server`;
    const found = await checkServer(subject, checks, { url, name });
    if (found.status !== 'failed') return found;
    return {
      ...found,
      detail: `the socket in ${folder} does not answer like our database${found.detail.slice(name.length)}`,
      next: 'wait if a server is starting there; otherwise stop the program that listens on that socket',
    };
  }
  return withinLimit(
    START_WITHIN_MS,
    subject.clock,
    async () => {
      if (await databaseExists(config.DATA_DIR))
        return openEmbedded(subject, checks, config, folder);
      const fault = await findWriteFault(config.DATA_DIR);
      if (fault === null) {
        return ok(`embedded, will be created in ${folder} by \`npm start\``);
      }
      return failed(`${folder} cannot be created: ${fault}`, 'set DATA_DIR');
    },
    (reason) =>
      failed(
        `embedded, in ${folder}: ${reason}`,
        'see docs/operate.md#recover-a-damaged-database, or set DATA_DIR to another folder',
      ),
  );
}

/** Whether there is a database, even a damaged one. An empty folder or an unfinished first start does not count. */
async function databaseExists(dataDir: string): Promise<boolean> {
  const files = await nullIfMissing(readdir(join(dataDir, 'postgres')));
  const unfinished = await nullIfMissing(stat(join(dataDir, 'postgres.unfinished')));
  return files !== null && files.length > 0 && unfinished === null;
}

async function openEmbedded(
  subject: Subject,
  checks: Check[],
  { DATA_DIR: dataDir }: DatabaseConfig,
  folder: string,
): Promise<CheckFinding> {
  const { openEmbeddedDatabase } = await import('../../lib/database/embedded/open.ts');
  const log = silentLog(subject);
  try {
    const db = await openEmbeddedDatabase({ dataDir, listen: null, log, clock: subject.clock });
    try {
      const { latency_ms } = await timed(() => ping(db));
      checks.push(...(await checkContent(subject, db)));
      checks.push(...(await checkMigrated(subject, db, checks)));
      return ok(`embedded, in ${folder}`, { latency_ms });
    } finally {
      await db.close();
    }
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    return ok(`embedded, in ${folder}; another process has it open`);
  }
}

/** Why a missing folder could not be created; null if it could. */
async function findWriteFault(folder: string): Promise<string | null> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isMissing && dirname(folder) !== folder) return findWriteFault(dirname(folder));
    return reasonOf(error);
  }
}
