import { zValidator } from '@hono/zod-validator';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { AppError } from '../errors.ts';
import { limitBody } from './body-limit.ts';
import type { HttpEnv } from './env.ts';
import { wordFault } from './input-faults.ts';
import { type BodyEncoding, readBody } from './request-body.ts';

/** Who may call a route. The document says it, and the access tests walk it. */
export type Access = 'public' | 'internal' | 'reader' | 'cron' | 'user' | 'mcp';

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
  /** Request headers, by their names in lower case. */
  headers?: Headers;
  body?: {
    encoding: BodyEncoding;
    schema: Body;
    /** Does the handler read the body itself? The schema is then for the document alone. Default: false. */
    readByHandler?: boolean;
    /** Largest body in bytes, where it is less than its surface takes. */
    maxBytes?: number;
  };
  /** Fields whose value is an id: a malformed one is 422, where other input is 400. */
  idFields?: readonly string[];
  /** The body of every error, where it is not one of the service API's. */
  errorSchema?: z.ZodType;
  /** Where the path is found, as addresses in front of it. Default: only at the origin. */
  servers?: readonly string[];
  /** Are requests of the route limited? Default: when it is below /api. */
  rateLimited?: boolean;
  /** The answers, but for the errors that `access` and the inputs imply: the document adds those. */
  responses: Record<number, RouteResponse>;
}

export interface RouteInput<Params, Query, Body = unknown, Headers = unknown> {
  params: Params;
  query: Query;
  body: Body;
  headers: Headers;
}

/**
 * A route with the handler that serves it, ready to be mounted on an app. It holds no dependency of its own:
 * the dependencies come when it is mounted, so a list of endpoints is plain data that documents can read.
 */
export interface Endpoint<Deps> {
  route: Route;
  mount(app: Hono<HttpEnv>, deps: Deps): void;
}

/**
 * Binds a handler to a route. Input that does not fit the route's schemas is answered 400 (422 for a
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
      const refuse = refuseInvalid(route.idFields ?? []);
      const { params, query, headers, body } = route;
      const parsedBody = body?.readByHandler ? undefined : body;
      if (body?.maxBytes !== undefined) on(limitBody(body.maxBytes));
      if (params) on(zValidator('param', params, refuse, worded));
      if (query) on(zValidator('query', query, refuse, worded));
      if (headers) on(zValidator('header', headers, refuse, worded));
      on(async (c) => {
        // The validators above put the parsed values there; Hono cannot type an optional validator.
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

/** Makes the validators word their faults as a body's. Their type of a result is narrower than zod's own. */
const worded = {
  validationFunction: (schema: z.ZodType, value: unknown) =>
    schema.safeParseAsync(value, { error: wordFault }) as Promise<never>,
};

type Refuse = ReturnType<typeof refuseInvalid>;

async function parseBody(
  c: Context<HttpEnv>,
  { encoding, schema }: NonNullable<Route['body']>,
  refuse: Refuse,
): Promise<unknown> {
  const data = await readBody(c, encoding);
  const parsed = await schema.safeParseAsync(data, { error: wordFault });
  refuse({ ...parsed, data });
  return parsed.data;
}

/** Throws what is wrong with an input: MALFORMED_ID when an id that was given is, else VALIDATION_ERROR. */
function refuseInvalid(idFields: readonly string[]) {
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
