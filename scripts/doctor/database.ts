import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type DatabaseConfig, databaseVariables } from '../../lib/platform/config/database.ts';
import { ConfigError } from '../../lib/platform/config/read.ts';
import { isNeonHost, openDatabase } from '../../lib/platform/database/open.ts';
import { createLog } from '../../lib/platform/log.ts';
import { whenThere } from '../../lib/platform/when-there.ts';
import { ping } from '../../lib/records/ping.ts';
import { embeddedUrl, urlOfRunningServer } from '../database.ts';
import { lookAtContent } from './database-content.ts';
import { reasonOf, timed, withinLimit } from './measuring.ts';
import { type Check, type Finding, named } from './report.ts';
import { type Subject, withConfig } from './subject.ts';

const CONNECT_WITHIN_MS = 6_000;
/** The embedded database starts in this process. */
const START_WITHIN_MS = 60_000;
const silentLog = (subject: Subject) => createLog('error', subject.clock, () => undefined);

/** The database and what is in it. */
export async function checkDatabase(subject: Subject): Promise<Check[]> {
  const checks: Check[] = [];
  const found = await withConfig(databaseVariables, subject, async (config) => {
    if (config.DATABASE_URL !== undefined) {
      return lookInto(subject, checks, {
        url: config.DATABASE_URL,
        ...describeUrl(config.DATABASE_URL, subject),
      });
    }
    if (subject.isHosted) {
      return {
        status: 'failed',
        detail: 'DATABASE_URL is not set: all that needs the database answers 503',
        next: 'make a Postgres, and set DATABASE_URL to its postgres:// address',
      };
    }
    return checkEmbedded(subject, checks, config);
  });
  return [named('database', found), ...checks];
}

/** What there is to say of an address before it is asked. */
function describeUrl(url: string, { isHosted }: Subject): Pick<Opening, 'name' | 'fault'> {
  const { hostname, searchParams } = new URL(url);
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\]|)$/.test(hostname);
  if (isNeonHost(hostname)) return { name: `Neon, ${hostname}` };
  const name = `Postgres, ${hostname || 'over a socket'}`;
  if (isHosted && isLocal) {
    return {
      name,
      fault: {
        status: 'failed',
        detail: 'DATABASE_URL names this machine, which a deployed function does not reach',
        next: 'set DATABASE_URL to a Postgres on the network',
      },
    };
  }
  const mode = searchParams.get('sslmode');
  if (isLocal || (mode !== null && mode !== 'disable')) return { name };
  return {
    name,
    fault: {
      status: 'warning',
      detail: `${name}: the connection is not encrypted`,
      next: 'add ?sslmode=verify-full to DATABASE_URL',
    },
  };
}

interface Opening {
  url: string;
  /** As a person knows the database. */
  name: string;
  /** What is wrong though it answers. */
  fault?: Finding;
}

async function lookInto(
  subject: Subject,
  checks: Check[],
  { url, name, fault }: Opening,
): Promise<Finding> {
  const db = await openDatabase({
    url,
    fetch: subject.fetch,
    log: silentLog(subject),
    maxConnections: 1,
  });
  try {
    return await withinLimit(
      CONNECT_WITHIN_MS,
      subject.clock,
      async () => {
        // The first one connects.
        await ping(db);
        const { latency_ms } = await timed(() => ping(db));
        checks.push(...(await lookAtContent(subject, db)));
        return { status: 'ok', detail: name, ...fault, latency_ms };
      },
      (reason) =>
        fault?.status === 'failed'
          ? fault
          : {
              status: 'failed',
              detail: `${name}: ${reason}`,
              next: 'correct DATABASE_URL, or start that database',
            },
    );
  } finally {
    await db.close();
  }
}

/** The embedded database: that of a running server, else the one in DATA_DIR, which is not made here. */
async function checkEmbedded(
  subject: Subject,
  checks: Check[],
  config: DatabaseConfig,
): Promise<Finding> {
  if ((await urlOfRunningServer(config)) !== null) {
    const name = 'embedded, of the running server';
    const found = await lookInto(subject, checks, { url: embeddedUrl(config), name });
    if (found.status !== 'failed') return found;
    return {
      ...found,
      detail: `port ${config.EMBEDDED_DB_PORT} does not answer as our database does${found.detail.slice(name.length)}`,
      next: 'wait while a server starts there; else set EMBEDDED_DB_PORT to another port, or to 0',
    };
  }
  const folder = relative('.', config.DATA_DIR) || '.';
  return withinLimit(
    START_WITHIN_MS,
    subject.clock,
    async () => {
      // The first file of a database: what is only a folder would be filled.
      const isMade = await whenThere(stat(join(config.DATA_DIR, 'postgres/PG_VERSION')));
      if (isMade) return openEmbedded(subject, checks, config, folder);
      const fault = await findWriteFault(config.DATA_DIR);
      if (fault === null) {
        return { status: 'ok', detail: `embedded, made in ${folder} by the first \`npm start\`` };
      }
      return {
        status: 'failed',
        detail: `${folder} cannot be made: ${fault}`,
        next: 'set DATA_DIR',
      };
    },
    (reason) => ({
      status: 'failed',
      detail: `embedded, in ${folder}: ${reason}`,
      next: 'restore a copy of DATA_DIR, or set it to another folder',
    }),
  );
}

async function openEmbedded(
  subject: Subject,
  checks: Check[],
  { DATA_DIR: dataDir }: DatabaseConfig,
  folder: string,
): Promise<Finding> {
  const { openEmbeddedDatabase } = await import('../../lib/platform/database/embedded/open.ts');
  const log = silentLog(subject);
  try {
    const db = await openEmbeddedDatabase({ dataDir, listen: null, log, clock: subject.clock });
    try {
      const { latency_ms } = await timed(() => ping(db));
      checks.push(...(await lookAtContent(subject, db)));
      return { status: 'ok', detail: `embedded, in ${folder}`, latency_ms };
    } finally {
      await db.close();
    }
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.message.includes('in use')) throw error;
    return { status: 'ok', detail: `embedded, in ${folder}; another process has it open` };
  }
}

/** Why a folder that is not there could not be made; null when it could. */
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
