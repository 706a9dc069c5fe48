import type { Context } from 'hono';
import * as z from 'zod';
import { within } from '../async.ts';
import type { ObservatoryConfig } from '../config/observatory.ts';
import type { HttpEnv } from '../http/env.ts';
import { observatoryError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { PREFIX } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

const reachable = z.enum(['ok', 'unreachable']);

const readiness = z
  .object({
    status: z.enum(['ready', 'unavailable']),
    database: reachable,
    go_backend: reachable.meta({ description: 'The service API.' }),
    configuration: z.enum(['ok', 'incomplete']),
    details: z
      .object({
        database: z.string().optional(),
        go_backend: z.string().optional(),
        configuration: z.string().optional(),
      })
      .optional()
      .meta({
        description: 'What is wrong. Only with a user’s token or the internal secret.',
      }),
  })
  .meta({ id: 'ObservatoryReadiness' });

const CALLER_WITHIN_MS = 1_000;

/** GET /observatory/ready. */
export const readyEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      method: 'get',
      path: `${PREFIX}/ready`,
      tag: 'Health',
      access: 'public',
      summary: 'Check the observatory and its dependencies',
      errorSchema: observatoryError,
      responses: {
        200: { description: 'Everything works.', schema: readiness },
        503: { description: 'Something does not work.', schema: readiness },
      },
    },
    async (_input, deps: ObservatoryDeps, c) => {
      const { database, backend } = await deps.findFaults();
      const configuration = findMissing(deps.config);
      const isReady = database === null && backend === null && configuration === null;
      const details = {
        ...(database === null ? {} : { database }),
        ...(backend === null ? {} : { go_backend: backend }),
        ...(configuration === null ? {} : { configuration }),
      };
      if (!isReady) deps.warnNotReady('the observatory is not ready', details);
      const mayKnow = !isReady && (await isKnown(c, deps, database));
      const body = {
        status: isReady ? 'ready' : 'unavailable',
        database: database === null ? 'ok' : 'unreachable',
        go_backend: backend === null ? 'ok' : 'unreachable',
        configuration: configuration === null ? 'ok' : 'incomplete',
        ...(mayKnow ? { details } : {}),
      };
      return c.json(body, isReady ? 200 : 503);
    },
  ),
];

/** Names the required variable, or the half of a pair, that is missing; null if none is. */
function findMissing(config: ObservatoryConfig): string | null {
  const { JWT_SECRET, AUTH_USERNAME, AUTH_PASSWORD } = config;
  if (JWT_SECRET === undefined) return 'JWT_SECRET is not set';
  if ((AUTH_USERNAME === undefined) === (AUTH_PASSWORD === undefined)) return null;
  return `${AUTH_USERNAME === undefined ? 'AUTH_USERNAME' : 'AUTH_PASSWORD'} is not set, but its counterpart is`;
}

/**
 * Whether the caller has a user's token or the internal secret. A token cannot be checked without the database,
 * which gets less time here than for a query.
 */
async function isKnown(
  c: Context<HttpEnv>,
  { users, clock, log }: ObservatoryDeps,
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
