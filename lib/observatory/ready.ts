import type { Context } from 'hono';
import type { ObservatoryConfig } from '../platform/config/observatory.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { within } from '../platform/within.ts';
import type { ObservatoryHandles } from './handles.ts';
import { readyRoute } from './routes/ready.ts';

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
