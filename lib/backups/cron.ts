import type { MiddlewareHandler } from 'hono';
import * as z from 'zod';
import type { BackupsConfig } from '../config/backups.ts';
import { MIN_SECRET_LENGTH } from '../config/values.ts';
import { AppError } from '../errors.ts';
import { hasBearerToken, unauthorized } from '../http/authentication.ts';
import type { HttpEnv } from '../http/env.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { BackupsDeps } from './backups-deps.ts';

/** Where the platform's cron calls; it checks access itself, by `requireCronSecret`. */
export const SWEEP_PATH = '/api/cron/sweep-stale-runs';

const outcome = z.union([
  z
    .object({ swept: z.int(), run_ids: z.array(z.int()) })
    .meta({ id: 'Sweep', description: 'Runs that were marked failed.' }),
  z
    .object({ skipped: z.literal(true), reason: z.string() })
    .meta({ id: 'SkippedSweep', description: 'The database was left alone.' }),
]);

/** GET and POST /api/cron/sweep-stale-runs. */
export const cronEndpoints: readonly Endpoint<BackupsDeps>[] = (['get', 'post'] as const).map(
  (method) =>
    endpoint(
      {
        method,
        path: SWEEP_PATH,
        tag: 'Cron',
        access: 'cron',
        summary: 'Mark the runs as failed whose worker stopped',
        description: 'Skipped while the database is not in use, so that it can sleep.',
        responses: { 200: { description: 'What was done.', schema: outcome } },
      },
      async (_input, deps: BackupsDeps, c) => {
        // A sweep feeds the search, whose code is nothing that a cold start should wait for.
        const { sweep } = await import('./sweeping.ts');
        return c.json(await sweep(deps));
      },
    ),
);

/**
 * Lets requests with CRON_SECRET as bearer, or with the internal secret, pass, whether or not
 * API_REQUIRE_AUTH is true. With neither configured all get 503.
 */
export function requireCronSecret(config: BackupsConfig): MiddlewareHandler<HttpEnv> {
  const { CRON_SECRET, INTERNAL_SECRET = '' } = config;
  if (CRON_SECRET === undefined && INTERNAL_SECRET.length < MIN_SECRET_LENGTH) {
    return async () => {
      throw new AppError('SERVICE_UNAVAILABLE', 'neither CRON_SECRET nor INTERNAL_SECRET is set');
    };
  }
  return async (c, next) => {
    const allowed =
      c.get('hasInternalSecret') || (CRON_SECRET !== undefined && hasBearerToken(c, CRON_SECRET));
    if (!allowed) throw unauthorized();
    await next();
  };
}
