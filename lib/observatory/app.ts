import type { Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { createGateway } from '../gateway/gateway.ts';
import type { ObservatoryConfig } from '../platform/config/observatory.ts';
import type { Deps } from '../platform/deps.ts';
import { limitBody, MAX_BODY_BYTES } from '../platform/http/body-limit.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { limitRate } from '../platform/http/rate-limit.ts';
import { mountEndpoints, nameRoutes } from '../platform/http/route.ts';
import { createSurface, type SurfaceOptions } from '../platform/http/surface.ts';
import { warnOccasionally } from '../platform/occasional-log.ts';
import { hashingModel } from '../search/embedders/hashing.ts';
import { describeObservatoryError } from './answers.ts';
import { createUserCheck } from './authentication.ts';
import { createChatHandles } from './chat/handles.ts';
import { PREFIX } from './declare.ts';
import { observatoryEndpoints } from './endpoints.ts';
import type { ObservatoryHandles } from './handles.ts';
import { createLoginLockout } from './login-lockout.ts';
import { createPasswordCheck } from './password-check.ts';
import { shareReadiness } from './readiness-faults.ts';
import { readyEndpoints } from './ready.ts';
import { isInternalReport } from './reports/internal-access.ts';
import type { AskServiceApi } from './service-api.ts';
import { createTokens } from './tokens.ts';

export interface ObservatoryAppOptions extends SurfaceOptions {
  /** How the service API of the same deployment is reached, for /observatory/ready. */
  askServiceApi?: AskServiceApi;
  /** Aborts when the process ends: turns of the chat that run are then ended and stored. Default: null, never. */
  stopping?: AbortSignal | null;
}

const WARN_INTERVAL_MS = 60_000;

/** The observatory of specification 2. */
export function createObservatoryApp(
  deps: Deps<ObservatoryConfig>,
  { askServiceApi = askNobody, stopping = null, ...options }: ObservatoryAppOptions = {},
): Hono<HttpEnv> {
  const handles = buildHandles(deps, { askServiceApi, stopping });
  const app = createSurface(deps, {
    ...options,
    describeError: describeObservatoryError,
    getPath: pathWithoutPrefix,
  });
  const publicPaths = new Set(
    observatoryEndpoints
      .filter(({ route }) => route.access === 'public')
      .map(({ route }) => route.path),
  );
  const limit = limitRate(deps);
  nameRoutes(app, observatoryEndpoints);
  // An unknown path is 401 without a token, like the paths of the service API.
  app.use(
    (c, next) => (c.req.path === READY_PATH ? next() : limit(c, next)),
    (c, next) =>
      publicPaths.has(c.req.path) || isInternalReport(c, deps.config)
        ? next()
        : handles.users.requireUser(c, next),
    limitBody(MAX_BODY_BYTES),
  );
  mountEndpoints(app, observatoryEndpoints, handles);
  return app;
}

/** What goes on answering while the configuration is bad: that it is. */
export function mountReadiness(app: Hono<HttpEnv>, deps: Deps<ObservatoryConfig>): void {
  mountEndpoints(app, readyEndpoints, buildHandles(deps, unreachable));
}

const askNobody: AskServiceApi = async () => {
  throw new Error('BACKEND_URL is not set');
};

type HandedIn = Required<Pick<ObservatoryAppOptions, 'askServiceApi' | 'stopping'>>;

/** For what serves no more than its own readiness. */
const unreachable: HandedIn = {
  askServiceApi: askNobody,
  stopping: null,
};

function buildHandles(deps: Deps<ObservatoryConfig>, parts: HandedIn): ObservatoryHandles {
  const { config, db, clock, log } = deps;
  if (config.JWT_SECRET === undefined) {
    log.error('JWT_SECRET is not set: the observatory answers 503');
  }
  const tokens =
    config.JWT_SECRET === undefined ? null : createTokens(config.JWT_SECRET, config, clock);
  const gateway = createGateway(deps, [hashingModel]);
  return {
    ...deps,
    tokens,
    users: createUserCheck(deps, tokens),
    lockout: createLoginLockout(deps),
    checkPassword: createPasswordCheck(config, db),
    gateway,
    chat: createChatHandles(deps, { ...parts, gateway }),
    askServiceApi: parts.askServiceApi,
    findFaults: shareReadiness({ ...deps, ...parts }),
    warnNotReady: warnOccasionally(deps, WARN_INTERVAL_MS),
  };
}

/** The service API has a /ready of its own, so this one keeps its prefix (decisions 1). */
const READY_PATH = `${PREFIX}/ready`;

/** Routes a request by its path without the prefix. */
function pathWithoutPrefix(request: Request): string {
  const path = getPath(request);
  return path.startsWith(`${PREFIX}/`) && path !== READY_PATH ? path.slice(PREFIX.length) : path;
}
