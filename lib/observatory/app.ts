import type { Context, Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import type { ObservatoryConfig } from '../config/observatory.ts';
import { createGateway } from '../gateway/gateway.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { probePaths } from '../http/probes.ts';
import { limitRate } from '../http/rate-limit.ts';
import { limitBody, MAX_BODY_BYTES } from '../http/request-body.ts';
import { mountEndpoints, recordRoutePatterns } from '../http/route.ts';
import { createSurface, type SurfaceOptions } from '../http/surface.ts';
import { warnOccasionally } from '../log/occasional-log.ts';
import { hashingModel } from '../search/embedders/hashing.ts';
import type { PasswordCost } from '../security/password.ts';
import type { LoginCodes } from '../users/login-codes.ts';
import { createUserCheck } from '../users/user-check.ts';
import { describeObservatoryError, PREFIX } from './base/answers.ts';
import { createChatDeps } from './base/chat-deps.ts';
import { createLoginLockout } from './base/login-lockout.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';
import { createPasswords } from './base/passwords.ts';
import type { AskServiceApi } from './base/readiness.ts';
import { shareReadiness } from './base/readiness.ts';
import { observatoryEndpoints } from './observatory-endpoints.ts';
import { readyEndpoints } from './ready.ts';
import { isInternalReport } from './reports/internal-access.ts';

export interface ObservatoryAppOptions extends SurfaceOptions {
  /** Asks the service API of the same deployment, for /observatory/ready. */
  askServiceApi?: AskServiceApi | undefined;
  /** Aborts when the process ends; running chat turns are then ended and stored. Default: null, never. */
  stopping?: AbortSignal | null | undefined;
  /** Codes of login links. Default: null, there are none. */
  loginCodes?: LoginCodes | null | undefined;
  /** Whether the MCP server of this installation has a token. Default: false. */
  hasMcpToken?: boolean | undefined;
  /** Explains why the archives cannot be read here; null if they can. Default: they are not on this server. */
  explainMissingArchives?: (() => Promise<string | null>) | undefined;
  /** The cost of checking a password. Default: PASSWORD_COST. */
  passwordCost?: PasswordCost | undefined;
}

const WARN_INTERVAL_MS = 60_000;

/** The observatory: login, search, chat and reports. */
export function createObservatoryApp(
  deps: Deps<ObservatoryConfig>,
  options: ObservatoryAppOptions = {},
): Hono<HttpEnv> {
  const observatoryDeps = buildObservatoryDeps(deps, options);
  const { readConnection, outermost } = options;
  const app = createSurface(deps, {
    ...(readConnection ? { readConnection } : {}),
    ...(outermost ? { outermost } : {}),
    describeError: describeObservatoryError,
    getPath: pathWithoutPrefix,
  });
  const routes = observatoryEndpoints.map(({ route }) => route);
  const publicPaths = new Set(
    routes.filter(({ access }) => access === 'public').map(({ path }) => path),
  );
  // Other methods of a public path may need a user.
  const userRoutes = new Set(
    routes
      .filter(({ access }) => access === 'user')
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`),
  );
  const { recognizeUser, requireUser } = observatoryDeps.users;
  const limit = limitRate(deps, { maxPerUser: deps.config.USER_MAX_REQUESTS_PER_MINUTE });
  const needsUser = (c: Context<HttpEnv>) =>
    (!publicPaths.has(c.req.path) || userRoutes.has(`${c.req.method} ${c.req.path}`)) &&
    !isInternalReport(c, deps.config);
  recordRoutePatterns(app, observatoryEndpoints);
  // Without a token, an unknown path is 401, as in the service API.
  app.use(
    (c, next) => (needsUser(c) ? recognizeUser(c, next) : next()),
    (c, next) => (probePaths.has(c.req.path) ? next() : limit(c, next)),
    (c, next) => (needsUser(c) ? requireUser(c, next) : next()),
    limitBody(MAX_BODY_BYTES),
  );
  mountEndpoints(app, observatoryEndpoints, observatoryDeps);
  return app;
}

/** Mounts /observatory/ready, which reports an invalid configuration. */
export function mountReadiness(app: Hono<HttpEnv>, deps: Deps<ObservatoryConfig>): void {
  mountEndpoints(app, readyEndpoints, buildObservatoryDeps(deps, {}));
}

const noServiceApi: AskServiceApi = async () => {
  throw new Error('BACKEND_URL is not set');
};

const explainNoArchives = async () => 'the archives are not on this server';

function buildObservatoryDeps(
  deps: Deps<ObservatoryConfig>,
  {
    askServiceApi = noServiceApi,
    stopping = null,
    loginCodes = null,
    hasMcpToken = false,
    explainMissingArchives = explainNoArchives,
    passwordCost,
  }: Omit<ObservatoryAppOptions, keyof SurfaceOptions>,
): ObservatoryDeps {
  const { config, log } = deps;
  if (config.JWT_SECRET === undefined) {
    log.error('JWT_SECRET is not set: the observatory answers 503');
  }
  const gateway = createGateway(deps, [hashingModel]);
  return {
    ...deps,
    users: createUserCheck(deps),
    loginCodes,
    lockout: createLoginLockout(deps),
    passwords: createPasswords(deps, passwordCost),
    gateway,
    chat: createChatDeps(deps, { stopping, gateway, askServiceApi }),
    askServiceApi,
    hasMcpToken,
    explainMissingArchives,
    findFaults: shareReadiness({ ...deps, askServiceApi }),
    warnNotReady: warnOccasionally(deps, WARN_INTERVAL_MS),
  };
}

/** The only path that keeps its prefix, because the service API has its own /ready. */
const READY_PATH = `${PREFIX}/ready`;

/** The path of a request without the prefix. */
function pathWithoutPrefix(request: Request): string {
  const path = getPath(request);
  return path.startsWith(`${PREFIX}/`) && path !== READY_PATH ? path.slice(PREFIX.length) : path;
}
