import type { Hono, MiddlewareHandler } from 'hono';
import { hasMcpToken } from '../config/features.ts';
import { type ObservatoryConfig, observatoryVariables } from '../config/observatory.ts';
import type { Environment } from '../config/read.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import type { WriteLine } from '../log/log.ts';
import { configReader, createHostedSurface } from '../surfaces/hosted-surface.ts';
import { createObservatoryApp, mountReadiness } from './app.ts';
import { describeObservatoryError } from './base/answers.ts';
import type { AskServiceApi } from './base/readiness.ts';

/**
 * The observatory as a deployed function. `stopping` aborts when the platform ends the process, so that running
 * chat turns are stored; null if the platform does not announce it.
 */
export function createHostedObservatoryApp(
  environment: Environment,
  stopping: AbortSignal | null,
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  return createHostedSurface<ObservatoryConfig>(
    {
      name: 'the observatory',
      readConfig: configReader(observatoryVariables),
      createApp: (deps, given) => {
        const options = {
          ...given,
          stopping,
          outermost: [finishRequests(deps)],
          hasMcpToken: hasMcpToken(environment),
        };
        const { VERCEL_URL: host } = deps.config;
        if (host === undefined) return createObservatoryApp(deps, options);
        const askServiceApi: AskServiceApi = (signal) =>
          deps.fetch(`https://${host}/health`, { signal, redirect: 'manual' });
        return createObservatoryApp(deps, { ...options, askServiceApi });
      },
      mountUnconfigured: mountReadiness,
      describeError: describeObservatoryError,
    },
    environment,
    write,
  );
}

/** Keeps the platform from stopping the function when its client disconnects. */
function finishRequests({
  waitUntil,
}: Pick<Deps<ObservatoryConfig>, 'waitUntil'>): MiddlewareHandler<HttpEnv> {
  return (_c, next) => {
    const work = next();
    waitUntil(work);
    return work;
  };
}
