import * as z from 'zod';
import {
  createDocument as createZodDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import { errorEnvelope, plainError } from '../../lib/http/error-shapes.ts';
import { probePaths } from '../../lib/http/probes.ts';
import { mediaTypes } from '../../lib/http/request-body.ts';
import type { Access, Route, RouteResponse } from '../../lib/http/route.ts';
import { liveEndpoints } from '../../lib/live/app.ts';
import { mcpEndpoints } from '../../lib/mcp/mcp-endpoints.ts';
import { observatoryEndpoints } from '../../lib/observatory/observatory-endpoints.ts';
import { version } from '../../lib/version.ts';

/** Every route that the functions serve, in the order of the document. */
export const allRoutes: readonly Route[] = [
  ...backupsEndpoints,
  ...liveEndpoints,
  ...observatoryEndpoints,
  ...mcpEndpoints,
].map(({ route }) => route);

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = ReturnType<typeof createZodDocument>;

const requestId = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/)
  .meta({
    description: 'The id of the request, as sent by the client or random.',
    header: { id: 'RequestId' },
  });
const retryAfter = z
  .string()
  .meta({ description: 'Seconds to wait before trying again.', header: { id: 'RetryAfter' } });
const secretChallenge = z
  .literal('Bearer realm=backup-api')
  .meta({ description: 'How to authenticate.', header: { id: 'WwwAuthenticate' } });
const userChallenge = z
  .string()
  .meta({ description: 'How to authenticate.', header: { id: 'WwwAuthenticateUser' } });

const securitySchemes = {
  InternalSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Internal-Secret',
    description: 'INTERNAL_SECRET of the service.',
  },
  InternalBearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'INTERNAL_SECRET of the service.',
  },
  CronBearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'CRON_SECRET of the service; INTERNAL_SECRET is accepted too.',
  },
  McpBearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'MCP_AUTH_TOKEN of the service.',
  },
  UserToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The access_token of POST /auth/login.',
  },
  UserCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-backup-observatory',
    description:
      'The cookie of POST /auth/session; `backup-observatory` over plain http. Changes also need `Sec-Fetch-Site: same-origin`.',
  },
} as const;

const readers = [
  { InternalSecret: [] },
  { InternalBearer: [] },
  { UserToken: [] },
  { UserCookie: [] },
];

const security: Record<Access, Record<string, string[]>[]> = {
  public: [],
  internal: [{ InternalSecret: [] }, { InternalBearer: [] }],
  cron: [{ CronBearer: [] }, { InternalSecret: [] }],
  reader: readers,
  identified: readers,
  administrator: readers,
  user: [{ UserToken: [] }, { UserCookie: [] }],
  mcp: [{ McpBearer: [] }],
};

/** Describes routes as an OpenAPI 3.1 document, from the schemas that the server validates with. */
export function createDocument(routes: readonly Route[]): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const servers = route.servers?.map((url) => ({ url }));
    paths[path] = {
      ...paths[path],
      ...(servers ? { servers } : {}),
      [route.method]: describeRoute(route),
    };
  }
  return createZodDocument({
    openapi: '3.1.1',
    info: {
      title: 'Backup Observatory',
      version,
      description: 'Backup runs, results, analytics and logs of a git backup worker.',
    },
    paths,
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    components: { securitySchemes, schemas: eventSchemas(routes) },
  });
}

/** The schemas of streamed events. In OpenAPI 3.1 a response cannot declare them. */
function eventSchemas(routes: readonly Route[]): Record<string, z.ZodType> {
  const schemas = routes
    .flatMap(({ responses }) => Object.values(responses))
    .flatMap(({ eventSchema }) => eventSchema ?? []);
  return Object.fromEntries(schemas.map((schema) => [z.globalRegistry.get(schema)?.id, schema]));
}

function describeRoute(route: Route): ZodOpenApiOperationObject {
  return {
    operationId: operationId(route),
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    security: security[route.access],
    requestParams: {
      ...(route.params ? { path: route.params } : {}),
      ...(route.query ? { query: route.query } : {}),
      ...(route.headers ? { header: route.headers } : {}),
    },
    ...(route.body ? { requestBody: describeBody(route.body) } : {}),
    responses: { ...failures(route), ...described(route) },
  };
}

function describeBody({ encoding, schema }: NonNullable<Route['body']>) {
  const required = !schema.safeParse({}).success;
  return { required, content: { [mediaTypes[encoding]]: { schema } } };
}

/** `GET /api/backups/:id` becomes `get_api_backups_id`. */
function operationId({ method, path }: Route): string {
  return [method, ...path.split(/[^A-Za-z0-9]+/).filter((part) => part !== '')].join('_');
}

/** The responses that a route declares. */
function described(route: Route): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, response]) => [
      status,
      {
        description: response.description,
        headers: z.object({ 'X-Request-ID': requestId }),
        content: describeContent(response),
      },
    ]),
  );
}

function describeContent({ schema, contentType }: RouteResponse) {
  return {
    ...(schema ? { 'application/json': { schema } } : {}),
    ...Object.fromEntries([contentType ?? []].flat().map((type) => [type, { schema: z.string() }])),
  };
}

/** The errors that a route's access and inputs imply. */
function failures(route: Route): ZodOpenApiResponsesObject {
  const plain = route.errorSchema ?? plainError;
  const envelope = route.errorSchema ?? errorEnvelope;
  const isGuarded = route.access !== 'public';
  const challenge = route.access === 'user' ? userChallenge : secretChallenge;
  const wait = { 'Retry-After': retryAfter };
  return {
    ...(route.params || route.query || route.body ? { 400: failure('Invalid input.', plain) } : {}),
    ...(isGuarded
      ? {
          401: failure(
            route.access === 'user' ? 'Missing or invalid token.' : 'Missing or wrong secret.',
            envelope,
            { 'WWW-Authenticate': challenge },
          ),
        }
      : {}),
    403: failure(
      route.access === 'administrator'
        ? 'The user is not an administrator, or the request comes from a page of another origin.'
        : 'The request comes from a page of another origin.',
      plain,
    ),
    ...(route.body ? { 413: failure('The body is too large.', plain) } : {}),
    ...(route.idFields ? { 422: failure('Malformed id.', plain) } : {}),
    ...(probePaths.has(route.path) ? {} : { 429: failure('Too many requests.', envelope, wait) }),
    500: failure('Internal error.', envelope),
    ...(isGuarded
      ? { 503: failure('The database or the configuration is not available.', envelope, wait) }
      : {}),
  };
}

function failure(description: string, schema: z.ZodType, headers: z.ZodRawShape = {}) {
  return {
    description,
    headers: z.object({ 'X-Request-ID': requestId, ...headers }),
    content: { 'application/json': { schema } },
  };
}
