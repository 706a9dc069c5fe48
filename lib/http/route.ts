import { zValidator } from '@hono/zod-validator';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { currentCaller } from '../caller.ts';
import { AppError } from '../errors.ts';
import type { HttpEnv } from './env.ts';
import { type BodyEncoding, limitBody, readBody } from './request-body.ts';
import { describeIssue } from './validation-messages.ts';

/**
 * Who may call a route. OpenAPI documents it, and the access tests check it. `identified` is like `reader`, but
 * requires a credential even if API_REQUIRE_AUTH is false; `administrator` is like that, without users who are not
 * administrators.
 */
export type Access =
  | 'public'
  | 'internal'
  | 'reader'
  | 'identified'
  | 'administrator'
  | 'cron'
  | 'user'
  | 'mcp';

/** A response: JSON of `schema`, text of `contentType`, or either. */
export interface RouteResponse {
  description: string;
  schema?: z.ZodType;
  /** Several if a parameter chooses among them. */
  contentType?: string | readonly string[];
  /** The JSON of each event of a `text/event-stream`. */
  eventSchema?: z.ZodType;
}

/**
 * The declaration of an endpoint. The server uses it to route and validate, `/openapi.json` is generated from it, and
 * tests validate responses against it.
 */
export interface Route<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
  Headers extends z.ZodObject = z.ZodObject,
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
  /** Request headers, with names in lower case. */
  headers?: Headers;
  body?: {
    encoding: BodyEncoding;
    schema: Body;
    /** The handler reads the body itself; the schema only documents it. Default: false. */
    readByHandler?: boolean;
    /** A limit below that of the surface. */
    maxBytes?: number;
  };
  /** Fields that are ids: a malformed one gives 422, while other invalid input gives 400. */
  idFields?: readonly string[];
  /** The schema of error bodies, if different from the service API's. */
  errorSchema?: z.ZodType;
  /** Base URLs of the path. Default: only the origin. */
  servers?: readonly string[];
  /** Whether it changes nothing, so that it may end when its client disconnects. Default: true for GET, except cron. */
  isReading?: boolean;
  /** Responses, without the errors implied by `access` and the inputs: OpenAPI adds those. */
  responses: Record<number, RouteResponse>;
}

export interface RouteInput<Params, Query, Body = unknown, Headers = unknown> {
  params: Params;
  query: Query;
  body: Body;
  headers: Headers;
}

/**
 * A route with its handler. Dependencies are passed in when it is mounted, so that lists of endpoints can be
 * built without any, for example to generate documents.
 */
export interface Endpoint<Deps> {
  route: Route;
  mount(app: Hono<HttpEnv>, deps: Deps): void;
}

/**
 * Binds a handler to a route. Input that does not match the route's schemas is rejected with 400 (422 for a
 * malformed id of `idFields`) before the handler runs.
 */
export function endpoint<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Headers extends z.ZodObject,
  Deps = unknown,
>(
  route: Route<Params, Query, Body, Headers>,
  handler: (
    input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>, z.output<Headers>>,
    deps: Deps,
    c: Context<HttpEnv>,
  ) => Response | Promise<Response>,
): Endpoint<Deps> {
  return {
    route,
    mount(app, deps) {
      const on = (handler: MiddlewareHandler<HttpEnv>) =>
        app.on([route.method.toUpperCase()], [route.path], handler);
      const refuse = rejectInvalid(route.idFields ?? []);
      const { params, query, headers, body } = route;
      const parsedBody = body?.readByHandler ? undefined : body;
      const isReading = route.isReading ?? (route.method === 'get' && route.access !== 'cron');
      on((c, next) => {
        const caller = currentCaller();
        if (caller !== null) {
          const signal = isReading ? () => c.req.raw.signal : null;
          Object.assign(caller, { phase: isReading ? 'reading' : 'changing', signal });
        }
        return next();
      });
      if (body?.maxBytes !== undefined) on(limitBody(body.maxBytes));
      if (params) on(zValidator('param', params, refuse, withMessages));
      if (query) on(zValidator('query', query, refuse, withMessages));
      if (headers) on(zValidator('header', headers, refuse, withMessages));
      on(async (c) => {
        // Hono cannot type optional validators.
        const valid = c.req.valid as (target: 'param' | 'query' | 'header') => unknown;
        const params = (route.params ? valid.call(c.req, 'param') : {}) as z.output<Params>;
        const query = (route.query ? valid.call(c.req, 'query') : {}) as z.output<Query>;
        const headers = (route.headers ? valid.call(c.req, 'header') : {}) as z.output<Headers>;
        const body = (parsedBody ? await parseBody(c, parsedBody, refuse) : {}) as z.output<Body>;
        return handler({ params, query, body, headers }, deps, c);
      });
    },
  };
}

/**
 * Records the route pattern of each request, for metrics and logs. Mounted before any middleware that may
 * reject the request, so that rejections count for the route too. If two patterns match, the first in the
 * list serves the request, so it is recorded last.
 */
export function recordRoutePatterns(
  app: Hono<HttpEnv>,
  endpoints: readonly { route: Route }[],
): void {
  for (const path of new Set(endpoints.map(({ route }) => route.path).reverse())) {
    app.use(path, async (c, next) => {
      c.set('routePattern', path);
      await next();
    });
  }
}

/** Mounts endpoints, and responds to other methods on their paths with 405 and the allowed methods. */
export function mountEndpoints<Deps>(
  app: Hono<HttpEnv>,
  endpoints: readonly Endpoint<Deps>[],
  deps: Deps,
): void {
  for (const { mount } of endpoints) mount(app, deps);
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

/** Gives the validators the same messages as bodies. Their result type is narrower than zod's. */
const withMessages = {
  validationFunction: (schema: z.ZodType, value: unknown) =>
    schema.safeParseAsync(value, { error: describeIssue }) as Promise<never>,
};

type Refuse = ReturnType<typeof rejectInvalid>;

async function parseBody(
  c: Context<HttpEnv>,
  { encoding, schema }: NonNullable<Route['body']>,
  refuse: Refuse,
): Promise<unknown> {
  const data = await readBody(c, encoding);
  const parsed = await schema.safeParseAsync(data, { error: describeIssue });
  refuse({ ...parsed, data });
  return parsed.data;
}

/** Throws MALFORMED_ID if an id was given and is invalid, otherwise VALIDATION_ERROR. */
function rejectInvalid(idFields: readonly string[]) {
  return (result: {
    success: boolean;
    data?: unknown;
    error?: { issues: readonly z.core.$ZodIssue[] } | undefined;
  }): undefined => {
    if (result.success || !result.error) return;
    const given = new Set(Object.keys(Object(result.data)));
    const details = result.error.issues.map(({ path, message }) => ({
      path: path.join('.'),
      message,
    }));
    const malformedId = details.some(({ path }) => idFields.includes(path) && given.has(path));
    throw new AppError(
      malformedId ? 'MALFORMED_ID' : 'VALIDATION_ERROR',
      details.map(({ path, message }) => `${path} ${message}`.trim()).join('; '),
      { details },
    );
  };
}
