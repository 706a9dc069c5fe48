import type { Hono } from 'hono';
import { systemClock } from '../clock.ts';
import { type LiveConfig, liveSurfaceVariables } from '../config/live.ts';
import type { Environment } from '../config/read.ts';
import type { HttpEnv } from '../http/env.ts';
import { createNodeServer, type NodeServer } from '../http/server/serve.ts';
import { createLog, type WriteLine } from '../log/log.ts';
import { configReader, createHostedSurface } from '../surfaces/hosted-surface.ts';
import { surfaces } from '../surfaces/surface-paths.ts';
import { createLiveApp, type LiveApp } from './app.ts';

/**
 * The live feed as a deployed function: a server that does not listen, because the platform passes it requests
 * and upgrades.
 */
export async function createHostedLiveServer(
  environment: Environment,
  write?: WriteLine,
): Promise<NodeServer> {
  const { app, closeClients } = await createHostedLiveApp(environment, write);
  const { server, close } = createNodeServer({
    fetch: app.fetch,
    log: createLog('info', systemClock, write),
    clock: systemClock,
  });
  return {
    server,
    async close(graceMs) {
      await Promise.all([closeClients(), close(graceMs)]);
    },
  };
}

interface HostedLiveApp {
  app: Hono<HttpEnv>;
  /** See `LiveApp.close`. */
  closeClients(): Promise<void>;
}

/**
 * The live feed without a server. Answers 503 unless served by `createNodeServer`, which passes it the connections.
 */
export async function createHostedLiveApp(
  environment: Environment,
  write?: WriteLine,
): Promise<HostedLiveApp> {
  const { maxDuration = 300 } = surfaces.find(({ name }) => name === 'live') ?? {};
  let live: LiveApp | null = null;
  const app = await createHostedSurface<LiveConfig>(
    {
      name: 'the live feed',
      readConfig: configReader(liveSurfaceVariables),
      createApp(deps, options) {
        live = createLiveApp(deps, { ...options, platformLimitMs: maxDuration * 1_000 });
        return live.app;
      },
    },
    environment,
    write,
  );
  return { app, closeClients: async () => live?.close() };
}
