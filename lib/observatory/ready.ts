import type { Context } from 'hono';
import type { ObservatoryConfig } from '../platform/config/observatory.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { shareUnderWay } from '../platform/share-under-way.ts';
import { within } from '../platform/within.ts';
import { ping } from '../records/ping.ts';
import type { ObservatoryHandles } from './handles.ts';
import { readyRoute } from './routes/ready.ts';

const DATABASE_WITHIN_MS = 3_000;
const BACKEND_WITHIN_MS = 2_000;
const CALLER_WITHIN_MS = 1_000;

/** GET /observatory/ready (spec 2, Endpoints and rule 8; decisions 5). */
export const readyEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(readyRoute, async (_input, handles: ObservatoryHandles, c) => {
    const { database, backend } = await handles.findFaults();
    const configuration = findMissing(handles.config);
    const isReady = database === null && backend === null && configuration === null;
    const details = {
      ...(database === null ? {} : { database }),
      ...(backend === null ? {} : { go_backend: backend }),
      ...(configuration === null ? {} : { configuration }),
    };
    if (!isReady) handles.warnNotReady('the observatory is not ready', details);
    const mayKnow = !isReady && (await isKnown(c, handles, database));
    const body = {
      status: isReady ? 'ready' : 'unavailable',
      database: database === null ? 'ok' : 'unreachable',
      go_backend: backend === null ? 'ok' : 'unreachable',
      configuration: configuration === null ? 'ok' : 'incomplete',
      ...(mayKnow ? { details } : {}),
    };
    return c.json(body, isReady ? 200 : 503);
  }),
];

/** What is wrong with what the observatory needs, without credentials; null where nothing is. */
export interface ReadinessFaults {
  database: string | null;
  backend: string | null;
}

/**
 * Asks what the observatory needs, once for all who ask while it is under way: anybody may, as often as they
 * like.
 */
export function shareReadiness(handles: AskingHandles): () => Promise<ReadinessFaults> {
  const { db, clock } = handles;
  const ask = async () => {
    const [database, backend] = await Promise.all([
      faultOf(within(DATABASE_WITHIN_MS, ping(db), clock), handles),
      faultOf(askBackend(handles), handles),
    ]);
    return { database, backend };
  };
  return shareUnderWay(ask, { clock, maxMs: DATABASE_WITHIN_MS });
}

type AskingHandles = Pick<
  ObservatoryHandles,
  'db' | 'clock' | 'config' | 'fetch' | 'redactor' | 'askServiceApi'
>;

/** Null when it goes well, else what is wrong, without credentials. */
async function faultOf(
  work: Promise<unknown>,
  { redactor }: Pick<ObservatoryHandles, 'redactor'>,
): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    return redactor.text(cause instanceof Error ? `${message}: ${cause.message}` : message);
  }
}

/** BACKEND_URL's /health when it is set, else that of the service API of the same deployment. */
async function askBackend({ config, fetch, clock, askServiceApi }: AskingHandles) {
  const expired = new AbortController();
  const ask =
    config.BACKEND_URL === undefined
      ? askServiceApi
      : (signal: AbortSignal) =>
          fetch(`${config.BACKEND_URL}/health`, { signal, redirect: 'manual' });
  try {
    const response = await within(BACKEND_WITHIN_MS, ask(expired.signal), clock);
    if (!response.ok) throw new Error(`it answers ${response.status}`);
  } finally {
    // The body is not read.
    expired.abort();
  }
}

/** What the observatory cannot do its work without, or has only half of; null when it is all there. */
function findMissing(config: ObservatoryConfig): string | null {
  const { JWT_SECRET, AUTH_USERNAME, AUTH_PASSWORD } = config;
  if (JWT_SECRET === undefined) return 'JWT_SECRET is not set';
  if ((AUTH_USERNAME === undefined) === (AUTH_PASSWORD === undefined)) return null;
  return `${AUTH_USERNAME === undefined ? 'AUTH_USERNAME' : 'AUTH_PASSWORD'} is not set, its other half is`;
}

/**
 * Does the caller have a user's token or the internal secret? Not to be told without the database, for
 * which nobody waits here as long as for a query.
 */
async function isKnown(
  c: Context<HttpEnv>,
  { users, clock, log }: ObservatoryHandles,
  databaseFault: string | null,
): Promise<boolean> {
  if (c.get('hasInternalSecret')) return true;
  try {
    return (await within(CALLER_WITHIN_MS, users.identify(c), clock)) !== null;
  } catch (error) {
    if (databaseFault === null) log.warn('a token could not be checked', { error });
    return false;
  }
}
