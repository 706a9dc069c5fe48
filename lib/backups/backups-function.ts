import type { Hono } from 'hono';
import { type BackupsConfig, backupsVariables } from '../config/backups.ts';
import type { Environment } from '../config/read.ts';
import type { HttpEnv } from '../http/env.ts';
import { mountEndpoints } from '../http/route.ts';
import type { WriteLine } from '../log/log.ts';
import { configReader, createHostedSurface } from '../surfaces/hosted-surface.ts';
import { buildBackupsDeps, createBackupsApp } from './app.ts';
import { docsEndpoints } from './docs.ts';
import { healthEndpoints } from './health.ts';

/** The service API as a deployed function. With an invalid variable, /health and the documents still work. */
export function createHostedBackupsApp(
  environment: Environment,
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  return createHostedSurface<BackupsConfig>(
    {
      name: 'the service API',
      readConfig: configReader(backupsVariables),
      createApp: createBackupsApp,
      mountUnconfigured: (app, deps) =>
        mountEndpoints(app, [...healthEndpoints, ...docsEndpoints], buildBackupsDeps(deps)),
    },
    environment,
    write,
  );
}
