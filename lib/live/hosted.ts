import type { Hono } from 'hono';
import { liveSurfaceVariables } from '../platform/config/live.ts';
import type { Environment } from '../platform/config/read.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { configReader, createHostedSurface } from '../platform/http/hosted-surface.ts';
import type { WriteLine } from '../platform/log.ts';
import { createLiveApp } from './app.ts';

/** The live feed as a deployed function (decisions 2). */
export function createHostedLiveApp(
  environment: Environment,
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  return createHostedSurface(
    {
      name: 'the live feed',
      readConfig: configReader(liveSurfaceVariables),
      createApp: createLiveApp,
    },
    environment,
    write,
  );
}
