import { zValidator } from '@hono/zod-validator';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { AppError } from '../errors.ts';
import type { HttpEnv } from './env.ts';

/** Who may call a route. The document says it, and the access tests walk it. */
export type Access = 'public' | 'internal' | 'cron';

/** What a route answers with one status: JSON of `schema`, text of `contentType`, or either. */
export interface RouteResponse {
  description: string;
  schema?: z.ZodType;
  contentType?: string;
}

/**
 * One endpoint, declared once: the server routes and validates by it, `/openapi.json` describes it, and
 * tests hold every answer against it.
 */
export interface Route<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Hono's pattern: `/api/backups/:id`. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  access: Access;
  params?: Params;
  query?: Query;
  /** The answers, but for the errors that `access` and the inputs imply: the document adds those. */
  responses: Record<number, RouteResponse>;
}

export interface RouteInput<Params, Query> {
  params: Params;
  query: Query;
}

/**
 * A route with the handler that serves it, ready to be mounted on an app. It holds no handle of its own:
 * the handles come when it is mounted, so a list of endpoints is plain data that documents can read.
 */
export interface Endpoint<Handles> {
  route: Route;
  mount(app: Hono<HttpEnv>, handles: Handles): void;
}

/**
 * Binds a handler to a route. Input that does not fit the route's schemas is answered 400 before the
 * handler runs.
 */
export function endpoint<Params extends z.ZodObject, Query extends z.ZodObject, Handles = unknown>(
  route: Route<Params, Query>,
  handler: (
    input: RouteInput<z.output<Params>, z.output<Query>>,
    handles: Handles,
    c: Context<HttpEnv>,
  ) => Response | Promise<Response>,
): Endpoint<Handles> {
  return {
    route,
    mount(app, handles) {
      const on = (handler: MiddlewareHandler<HttpEnv>) =>
        app.on([route.method.toUpperCase()], [route.path], handler);
      if (route.params) on(zValidator('param', route.params, refuseInvalid));
      if (route.query) on(zValidator('query', route.query, refuseInvalid));
      on(async (c) => {
        // The validators above put the parsed values there; Hono cannot type an optional validator.
        const valid = c.req.valid as (target: 'param' | 'query') => unknown;
        const params = (route.params ? valid.call(c.req, 'param') : {}) as z.output<Params>;
        const query = (route.query ? valid.call(c.req, 'query') : {}) as z.output<Query>;
        return handler({ params, query }, handles, c);
      });
    },
  };
}

/**
 * Notes the pattern of each request's route, for metrics and logs. Comes before what may refuse the
 * request, so that a refusal counts for its route too. Of two patterns that fit, the one that is listed
 * first serves the request, so it is noted last.
 */
export function nameRoutes(app: Hono<HttpEnv>, endpoints: readonly { route: Route }[]): void {
  for (const path of new Set(endpoints.map(({ route }) => route.path).reverse())) {
    app.use(path, async (c, next) => {
      c.set('routePattern', path);
      await next();
    });
  }
}

/**
 * Mounts endpoints, then answers every other method on their paths with 405 and the methods that are
 * allowed there.
 */
export function mountEndpoints<Handles>(
  app: Hono<HttpEnv>,
  endpoints: readonly Endpoint<Handles>[],
  handles: Handles,
): void {
  for (const { mount } of endpoints) mount(app, handles);
  for (const [path, routes] of Map.groupBy(endpoints, ({ route }) => route.path)) {
    const methods = routes.flatMap(({ route }) =>
      route.method === 'get' ? ['GET', 'HEAD'] : [route.method.toUpperCase()],
    );
    app.all(path, (c) => {
      throw new AppError('METHOD_NOT_ALLOWED', `${c.req.method} is not allowed here`, {
        headers: { Allow: methods.join(', ') },
      });
    });
  }
}

function refuseInvalid(result: {
  success: boolean;
  error?: { issues: readonly z.core.$ZodIssue[] };
}): undefined {
  if (result.success || !result.error) return;
  const faults = result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
  throw new AppError('BAD_REQUEST', faults.join('; '));
}
