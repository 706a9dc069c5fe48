import type { Hono } from 'hono';
import type { z } from 'zod';
import { systemClock } from '../clock.ts';
import type { DatabaseConfig } from '../config/database.ts';
import type { HttpConfig } from '../config/http.ts';
import { ConfigError, type Environment, readConfig } from '../config/read.ts';
import type { RedisConfig } from '../config/redis.ts';
import { configuredSecrets } from '../config/secrets.ts';
import { unavailableDatabase } from '../database/open.ts';
import { AppError } from '../errors.ts';
import { readPlatformConnection } from '../http/client-address.ts';
import { buildDeps, type Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import type { DescribeError } from '../http/error-response.ts';
import { createSurface, type SurfaceOptions } from '../http/surface.ts';
import { createLog, type LogLevel, type WriteLine } from '../log/log.ts';
import { createRedactor } from '../security/redaction/redactor.ts';
import { buildHostedDeps } from './hosted-deps.ts';

/** The configuration common to all deployed functions. */
export type SurfaceConfig = DatabaseConfig & RedisConfig & HttpConfig & { LOG_LEVEL: LogLevel };

/** Describes a surface to deploy as a function. */
export interface HostedSurface<Config> {
  /** Its name in logs, such as `the service API`. */
  name: string;
  /** Reads the configuration. Throws ConfigError. */
  readConfig(environment: Environment): Config;
  createApp(deps: Deps<Config>, options: SurfaceOptions): Hono<HttpEnv>;
  /** Mounts the routes that work without a configuration, such as /health. */
  mountUnconfigured?(app: Hono<HttpEnv>, deps: Deps<Config>): void;
  /** Formats its error bodies. Default: like the service API. */
  describeError?: DescribeError;
}

/**
 * Creates a deployed function for a surface. With an invalid configuration it logs the names of the invalid
 * variables and responds 503 to requests that need them, instead of crashing.
 */
export async function createHostedSurface<Config extends SurfaceConfig>(
  surface: HostedSurface<Config>,
  environment: Environment,
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  try {
    const config = surface.readConfig(environment);
    const redactor = createRedactor(configuredSecrets(environment));
    const log = createLog(config.LOG_LEVEL, systemClock, write, redactor);
    const deps = await buildHostedDeps(config, { log, redactor });
    return surface.createApp(deps, { readConnection: readPlatformConnection });
  } catch (error) {
    if (error instanceof ConfigError) {
      return createUnconfiguredApp(surface, environment, error, write);
    }
    throw error;
  }
}

/** The app while the configuration is invalid, with default settings and no database. */
function createUnconfiguredApp<Config extends SurfaceConfig>(
  surface: HostedSurface<Config>,
  environment: Environment,
  error: ConfigError,
  write?: WriteLine,
): Hono<HttpEnv> {
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog('info', systemClock, write, redactor);
  log.error(`${surface.name} is not configured: ${error.message}`);
  const deps = buildDeps({
    config: surface.readConfig({}),
    db: unavailableDatabase(error),
    redis: null,
    log,
    redactor,
    clock: systemClock,
    fetch,
    waitUntil: () => undefined,
  });
  const app = createSurface(deps, {
    readConnection: readPlatformConnection,
    ...(surface.describeError ? { describeError: surface.describeError } : {}),
  });
  surface.mountUnconfigured?.(app, deps);
  app.all('*', () => {
    throw new AppError('SERVICE_UNAVAILABLE', 'the service is not configured', { cause: error });
  });
  return app;
}

/** Creates a `HostedSurface.readConfig` for a group of variables. */
export function configReader<Shape extends z.ZodRawShape>(variables: z.ZodObject<Shape>) {
  return (environment: Environment) => readConfig(variables, environment);
}
