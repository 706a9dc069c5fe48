import type { Hono } from 'hono';
import { systemClock } from '../platform/clock.ts';
import { backupsVariables, ConfigError, type Environment, readConfig } from '../platform/config.ts';
import { unavailableDatabase } from '../platform/database/open.ts';
import { buildDeps } from '../platform/deps.ts';
import { AppError } from '../platform/errors.ts';
import { buildHostedDeps } from '../platform/hosted.ts';
import { readPlatformConnection } from '../platform/http/client-address.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { mountEndpoints } from '../platform/http/route.ts';
import { createSurface } from '../platform/http/surface.ts';
import { createLog, type WriteLine } from '../platform/log.ts';
import { createBackupsApp, describeService } from './app.ts';
import { docsEndpoints } from './docs.ts';
import { healthEndpoints } from './health.ts';

/**
 * The service API as a deployed function. A bad variable does not stop the process: it is logged by
 * name, /health goes on answering, and what needs the configuration answers 503. (decisions 2)
 */
export async function createHostedBackupsApp(
  environment: Environment,
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  try {
    const config = readConfig(backupsVariables, environment);
    const deps = await buildHostedDeps(config, createLog(config.LOG_LEVEL, systemClock, write));
    return createBackupsApp(deps, { readConnection: readPlatformConnection });
  } catch (error) {
    if (error instanceof ConfigError) return createUnconfiguredApp(error, write);
    throw error;
  }
}

/** What stands in while the configuration is bad: it has the defaults, and no database. */
function createUnconfiguredApp(error: ConfigError, write?: WriteLine): Hono<HttpEnv> {
  const log = createLog('info', systemClock, write);
  log.error(`the service API is not configured: ${error.message}`);
  const deps = buildDeps({
    config: readConfig(backupsVariables, {}),
    db: unavailableDatabase(error),
    log,
    clock: systemClock,
    fetch,
    waitUntil: () => undefined,
  });
  const app = createSurface(deps, { readConnection: readPlatformConnection });
  mountEndpoints(app, [...healthEndpoints, ...docsEndpoints], {
    ...deps,
    startedAt: deps.clock.now(),
    document: () => describeService([]),
  });
  app.all('*', () => {
    throw new AppError('SERVICE_UNAVAILABLE', 'the service is not configured', { cause: error });
  });
  return app;
}
