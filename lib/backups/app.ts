import type { Hono } from 'hono';
import { etag } from 'hono/etag';
import type { OutageMemory } from '../alerts/outage/outage-memory.ts';
import { shareInFlight } from '../async.ts';
import type { BackupsConfig } from '../config/backups.ts';
import { requireInternalSecret } from '../http/authentication.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { probePaths } from '../http/probes.ts';
import { limitRate } from '../http/rate-limit.ts';
import { mountEndpoints, recordRoutePatterns } from '../http/route.ts';
import { createSurface, protect, type SurfaceOptions } from '../http/surface.ts';
import { warnOccasionally } from '../log/occasional-log.ts';
import { readBadgeFacts } from '../records/badges/badge-facts.ts';
import { ping } from '../records/ping.ts';
import { judgingNow } from '../records/repositories/repository-states.ts';
import { readStatusFacts } from '../records/status-pages/status-facts.ts';
import type { StatusRow } from '../records/status-pages/status-pages.ts';
import { createReaderCheck } from '../users/reader-check.ts';
import { backupsEndpoints } from './backups-endpoints.ts';
import { BADGES_PATH } from './badges/public-badge.ts';
import type { ServedArchives } from './base/archives-deps.ts';
import type { BackupsDeps, TrySource } from './base/backups-deps.ts';
import type { RestoreJobs } from './base/restores-deps.ts';
import { shareFacts } from './base/shared-facts.ts';
import { requireCronSecret, SWEEP_PATH } from './cron.ts';
import { READY_WITHIN_MS } from './health.ts';

const WARN_INTERVAL_MS = 60_000;

export interface BackupsAppOptions extends SurfaceOptions {
  /** The archives on this machine. Default: null, for none. */
  archives?: ServedArchives | null;
  /** Default: null, for none. */
  trySource?: TrySource | null;
  /** Restores on this machine. Default: null, for none. */
  restores?: RestoreJobs | null;
  /** Records which channels were notified of a database outage. Default: null, which means Redis if configured. */
  outageMemory?: OutageMemory | null;
  /** Starts runs on this machine. Default: null, none does. */
  scheduler?: BackupsDeps['scheduler'];
}

/** The service API without its live feed. */
export function createBackupsApp(
  deps: Deps<BackupsConfig>,
  {
    archives = null,
    trySource = null,
    restores = null,
    outageMemory = null,
    scheduler = null,
    ...options
  }: BackupsAppOptions = {},
): Hono<HttpEnv> {
  if (!deps.config.API_REQUIRE_AUTH) {
    deps.log.warn(
      'API_REQUIRE_AUTH is false: all routes except changes, archives and /api/cron/* are open to anyone',
    );
  }
  const app = createSurface(deps, {
    ...options,
    // Badges are embedded in pages of other sites.
    isForOtherSites: (path) => path.startsWith(BADGES_PATH),
  });
  const requireSecret = requireInternalSecret(deps);
  const check = createReaderCheck(deps, requireSecret);
  recordRoutePatterns(app, backupsEndpoints);
  const ownAccess = { [SWEEP_PATH]: requireCronSecret(deps.config) };
  const maxPerUser = deps.config.USER_MAX_REQUESTS_PER_MINUTE;
  app.use(
    '/api/*',
    check.recognizeReader,
    ...protect(deps, { ownAccess, requireAccess: check.requireReader, maxPerUser }),
  );
  // All but probes are counted; /api counts its own, once the user is recognized.
  const limit = limitRate(deps);
  app.use((c, next) => (isCountedElsewhere(c.req.path) ? next() : limit(c, next)));
  app.use('/metrics', requireSecret);
  app.use(`${BADGES_PATH}*`, etag());
  for (const { route } of backupsEndpoints) {
    const { access, path } = route;
    if (access !== 'identified' && access !== 'administrator') continue;
    const method = route.method.toUpperCase();
    app.on([method], [path], check.requireIdentity);
    if (access === 'administrator') app.on([method], [path], check.requireAdministrator);
  }
  mountEndpoints(
    app,
    backupsEndpoints,
    buildBackupsDeps(deps, { archives, trySource, restores, outageMemory, scheduler }),
  );
  return app;
}

function isCountedElsewhere(path: string): boolean {
  return probePaths.has(path) || path.startsWith('/api/');
}

export function buildBackupsDeps(
  deps: Deps<BackupsConfig>,
  {
    archives = null,
    trySource = null,
    restores = null,
    outageMemory = null,
    scheduler = null,
  }: Pick<
    BackupsAppOptions,
    'archives' | 'trySource' | 'restores' | 'outageMemory' | 'scheduler'
  > = {},
): BackupsDeps {
  const { db, clock } = deps;
  return {
    ...deps,
    archives,
    trySource,
    restores,
    outageMemory,
    scheduler,
    startedAt: clock.now(),
    pingDatabase: shareInFlight(() => ping(db), { clock, maxMs: READY_WITHIN_MS }),
    readBadge: shareFacts(
      (repository: string | null) => readBadgeFacts(db, judgingNow(deps), repository),
      clock,
    ),
    readStatus: shareFacts(
      (shows: string) => readStatusFacts(db, judgingNow(deps), JSON.parse(shows) as StatusRow[]),
      clock,
    ),
    warnNotReady: warnOccasionally(deps, WARN_INTERVAL_MS),
  };
}
