import type { Hono } from 'hono';
import type { BackupsConfig } from '../platform/config/backups.ts';
import type { Deps } from '../platform/deps.ts';
import { requireInternalSecret } from '../platform/http/authentication.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import type { OpenApiDocument } from '../platform/http/openapi.ts';
import { mountEndpoints, nameRoutes, type Route } from '../platform/http/route.ts';
import { createSurface, protect, type SurfaceOptions } from '../platform/http/surface.ts';
import { memoize } from '../platform/memoize.ts';
import { warnOccasionally } from '../platform/occasional-log.ts';
import { shareUnderWay } from '../platform/share-under-way.ts';
import { version } from '../platform/version.ts';
import { ping } from '../records/ping.ts';
import { requireCronSecret, SWEEP_PATH } from './cron.ts';
import { backupsEndpoints } from './endpoints.ts';
import type { BackupsHandles } from './handles.ts';
import { READY_WITHIN_MS } from './health.ts';

export type ReadRoutes = () => Promise<readonly Route[]>;

const WARN_INTERVAL_MS = 60_000;

export interface BackupsAppOptions extends SurfaceOptions {
  /**
   * Reads the routes of other surfaces, for `/openapi.json`: one document describes them all (decisions 1).
   * Called when that is first asked for.
   */
  otherRoutes?: ReadRoutes;
}

/** The service API of specification 1 without its live feed. */
export function createBackupsApp(
  deps: Deps<BackupsConfig>,
  { otherRoutes = async () => [], ...options }: BackupsAppOptions = {},
): Hono<HttpEnv> {
  if (!deps.config.API_REQUIRE_AUTH) {
    deps.log.warn('API_REQUIRE_AUTH is false: every route but /api/cron/* is open to anyone');
  }
  const app = createSurface(deps, options);
  const requireSecret = requireInternalSecret(deps);
  nameRoutes(app, backupsEndpoints);
  const ownAccess = { [SWEEP_PATH]: requireCronSecret(deps.config) };
  app.use('/api/*', ...protect(deps, { ownAccess, requireSecret }));
  app.use('/metrics', requireSecret);
  mountEndpoints(app, backupsEndpoints, buildHandles(deps, otherRoutes));
  return app;
}

/** The handles of an app that describes itself and `otherRoutes`. */
export function buildHandles(deps: Deps<BackupsConfig>, otherRoutes: ReadRoutes): BackupsHandles {
  const { db, clock } = deps;
  const document = memoize(async () => describeService(await otherRoutes()));
  return {
    ...deps,
    startedAt: clock.now(),
    pingDatabase: shareUnderWay(() => ping(db), { clock, maxMs: READY_WITHIN_MS }),
    warnNotReady: warnOccasionally(deps, WARN_INTERVAL_MS),
    documents: {
      openApi: memoize(async () => JSON.stringify(await document())),
      page: memoize(async () => {
        const { docsContentSecurityPolicy, renderDocs } = await import('./docs-page.ts');
        const html = String(await renderDocs(await document()));
        return { html, contentSecurityPolicy: docsContentSecurityPolicy };
      }),
    },
  };
}

/** The OpenAPI document of the service API and the routes of other surfaces. */
export async function describeService(otherRoutes: readonly Route[]): Promise<OpenApiDocument> {
  const { createDocument } = await import('../platform/http/openapi.ts');
  return createDocument([...backupsEndpoints.map(({ route }) => route), ...otherRoutes], {
    title: 'Backup Observatory',
    version,
    description: 'Backup runs, results, analytics and logs of a git backup worker.',
  });
}
