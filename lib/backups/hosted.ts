import type { Hono } from 'hono';
import { type BackupsConfig, backupsVariables } from '../platform/config/backups.ts';
import type { Environment } from '../platform/config/read.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { configReader, createHostedSurface } from '../platform/http/hosted-surface.ts';
import { mountEndpoints } from '../platform/http/route.ts';
import type { WriteLine } from '../platform/log.ts';
import { buildHandles, createBackupsApp, type ReadRoutes } from './app.ts';
import { docsEndpoints } from './docs.ts';
import { healthEndpoints } from './health.ts';

/**
 * The service API as a deployed function. While a variable is bad, /health and the documents go on
 * answering. `otherRoutes` reads those of the other surfaces, for `/openapi.json`. (decisions 2)
 */
export function createHostedBackupsApp(
  environment: Environment,
  otherRoutes: ReadRoutes = async () => [],
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  return createHostedSurface<BackupsConfig>(
    {
      name: 'the service API',
      readConfig: configReader(backupsVariables),
      createApp: (deps, options) => createBackupsApp(deps, { ...options, otherRoutes }),
      mountUnconfigured: (app, deps) =>
        mountEndpoints(
          app,
          [...healthEndpoints, ...docsEndpoints],
          buildHandles(deps, async () => []),
        ),
    },
    environment,
    write,
  );
}
