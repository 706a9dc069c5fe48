import type { MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { BackupsConfig } from '../platform/config/backups.ts';
import { INTERNAL_SECRET_MIN_LENGTH } from '../platform/config/http.ts';
import { AppError } from '../platform/errors.ts';
import { carriesBearer, unauthorized } from '../platform/http/authentication.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { memoize } from '../platform/memoize.ts';
import type { BackupsHandles } from './handles.ts';

/** Where the platform's cron calls; it checks access itself, by `requireCronSecret`. */
export const SWEEP_PATH = '/api/cron/sweep-stale-runs';

const outcome = memoize(() =>
  z.union([
    z
      .object({ swept: z.int(), run_ids: z.array(z.int()) })
      .meta({ id: 'Sweep', description: 'Runs that were marked failed.' }),
    z
      .object({ skipped: z.literal(true), reason: z.string() })
      .meta({ id: 'SkippedSweep', description: 'The database was left alone.' }),
  ]),
);

/** GET and POST /api/cron/sweep-stale-runs. */
export const cronEndpoints: readonly Endpoint<BackupsHandles>[] = (['get', 'post'] as const).map(
  (method) =>
    endpoint(
      {
        method,
        path: SWEEP_PATH,
        tag: 'Cron',
        access: 'cron',
        summary: 'Mark the runs as failed whose worker stopped',
        description: 'Skipped while the database is not in use, so that it can sleep.',
        responses: () => ({ 200: { description: 'What was done.', schema: outcome() } }),
      },
      async (_input, handles: BackupsHandles, c) => {
        // A sweep feeds the search, whose code is nothing that a cold start should wait for.
        const { sweep } = await import('./sweeping.ts');
        return c.json(await sweep(handles));
      },
    ),
);

/**
 * Lets requests with CRON_SECRET as bearer, or with the internal secret, pass, whether or not
 * API_REQUIRE_AUTH is true. With neither configured all get 503. (decisions 2, CRON_SECRET)
 */
export function requireCronSecret(config: BackupsConfig): MiddlewareHandler<HttpEnv> {
  const { CRON_SECRET, INTERNAL_SECRET = '' } = config;
  if (CRON_SECRET === undefined && INTERNAL_SECRET.length < INTERNAL_SECRET_MIN_LENGTH) {
    return async () => {
      throw new AppError('SERVICE_UNAVAILABLE', 'neither CRON_SECRET nor INTERNAL_SECRET is set');
    };
  }
  return async (c, next) => {
    const allowed =
      c.get('hasInternalSecret') || (CRON_SECRET !== undefined && carriesBearer(c, CRON_SECRET));
    if (!allowed) throw unauthorized();
    await next();
  };
}
