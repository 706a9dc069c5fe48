import type { MiddlewareHandler } from 'hono';
import * as z from 'zod';
import type { BackupsConfig } from '../config/backups.ts';
import { MIN_SECRET_LENGTH } from '../config/values.ts';
import { AppError } from '../errors.ts';
import { hasBearerToken, unauthorized } from '../http/authentication.ts';
import type { HttpEnv } from '../http/env.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { BackupsDeps } from './base/backups-deps.ts';

/** Called by the platform's cron jobs. Checks access with `requireCronSecret`. */
export const SWEEP_PATH = '/api/cron/sweep-stale-runs';

const outcome = z.union([
  z
    .object({ swept: z.int(), run_ids: z.array(z.int()) })
    .meta({ id: 'Sweep', description: 'The runs that were marked as failed.' }),
  z
    .object({ skipped: z.literal(true), reason: z.string() })
    .meta({ id: 'SkippedSweep', description: 'Nothing was done, so that the database can sleep.' }),
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
        summary: 'Mark runs whose worker stopped as failed, and raise alerts',
        description:
          'While the database is idle, only in the first 10 minutes of each hour, so that it can sleep.',
        responses: { 200: { description: 'The outcome.', schema: outcome } },
      },
      async (_input, deps: BackupsDeps, c) => {
        // Loaded lazily: a sweep also updates search, whose code would slow down cold starts.
        const { sweep } = await import('./runs/stale-run-sweep.ts');
        return c.json(await sweep(deps));
      },
    ),
);

/**
 * Requires CRON_SECRET as a bearer token, or the internal secret, even if API_REQUIRE_AUTH is false. If neither
 * is configured, all requests get 503.
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
