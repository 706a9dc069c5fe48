import type { Hono } from 'hono';
import type { z } from 'zod';
import { systemClock } from '../clock.ts';
import type { DatabaseConfig } from '../config/database.ts';
import type { HttpConfig } from '../config/http.ts';
import { ConfigError, type Environment, readConfig } from '../config/read.ts';
import type { RedisConfig } from '../config/redis.ts';
import { configuredSecrets } from '../config/secrets.ts';
import { unavailableDatabase } from '../database/open.ts';
import { buildDeps, type Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { buildHostedDeps } from '../hosted.ts';
import { createLog, type LogLevel, type WriteLine } from '../log.ts';
import { createRedactor } from '../redaction.ts';
import { readPlatformConnection } from './client-address.ts';
import type { HttpEnv } from './env.ts';
import type { DescribeError } from './error-response.ts';
import { createSurface, type SurfaceOptions } from './surface.ts';

/** What every deployed function is configured by, whatever else it reads. */
export type SurfaceConfig = DatabaseConfig & RedisConfig & HttpConfig & { LOG_LEVEL: LogLevel };

/** How a surface becomes a deployed function. */
export interface HostedSurface<Config> {
  /** What the log calls it: `the service API`. */
  name: string;
  /** Reads the configuration. Throws ConfigError. */
  readConfig(environment: Environment): Config;
  createApp(deps: Deps<Config>, options: SurfaceOptions): Hono<HttpEnv>;
  /** Mounts what goes on answering without a configuration, such as /health. */
  mountUnconfigured?(app: Hono<HttpEnv>, deps: Deps<Config>): void;
  /** The body of its errors. Default: the service API's. */
  describeError?: DescribeError;
}

/**
 * A surface as a deployed function. A bad variable does not stop the process: it is logged by name, and
 * what needs the configuration answers 503. (decisions 2)
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

/** What stands in while the configuration is bad: it has the defaults, and no database. */
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

/** Reads one group of variables for `HostedSurface.readConfig`. */
export function configReader<Shape extends z.ZodRawShape>(variables: z.ZodObject<Shape>) {
  return (environment: Environment) => readConfig(variables, environment);
}
