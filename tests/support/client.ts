import { createBackupsApp } from '../../lib/backups/app.ts';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import type { ServedArchives } from '../../lib/backups/base/archives-deps.ts';
import type { RestoreJobs } from '../../lib/backups/base/restores-deps.ts';
import { errorEnvelope, plainError } from '../../lib/http/error-shapes.ts';
import type { Route } from '../../lib/http/route.ts';
import { createTestDeps, type TestDeps, type TestDepsOptions, withSecret } from './deps.ts';
import { checkShape } from './shape.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  bytes: Uint8Array;
  /** The parsed body of a JSON answer; null otherwise. */
  body: unknown;
}

export interface Client {
  deps: TestDeps;
  /** Sends the internal secret unless `headers` are given. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Sends `json`, if given, as the body. */
  send(
    method: string,
    path: string,
    headers?: Record<string, string>,
    json?: unknown,
  ): Promise<Answer>;
  post(path: string, json: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface ClientOptions extends TestDepsOptions {
  /** Makes the archives to serve. Default: null, none. */
  archives?: ((deps: TestDeps) => ServedArchives) | null;
  /** The restores of the server. Default: null, none. */
  restores?: RestoreJobs | null;
}

/**
 * Calls the service API as it ships. Every JSON answer is validated against the schema of its route or of an error
 * body, so every request of a test checks fields, types and order.
 */
export function createClient({
  archives = null,
  restores = null,
  ...options
}: ClientOptions = {}): Client {
  const deps = createTestDeps(options);
  const app = createBackupsApp(deps, { archives: archives?.(deps) ?? null, restores });
  const send: Client['send'] = async (method, path, headers = withSecret, json) => {
    const response = await app.request(path, {
      method,
      headers: json === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const body: unknown = isJson && text !== '' ? JSON.parse(text) : null;
    if (body !== null) checkShape(schemaOf(method, path, response.status), body);
    return { status: response.status, headers: response.headers, text, bytes, body };
  };
  return {
    deps,
    send,
    get: (path, headers) => send('GET', path, headers),
    post: (path, json, headers) => send('POST', path, headers, json),
  };
}

function schemaOf(method: string, path: string, status: number) {
  const { pathname } = new URL(path, 'http://localhost');
  const route = backupsEndpoints
    .map((endpoint) => endpoint.route)
    .find((route) => route.method === method.toLowerCase() && fits(route, pathname));
  const schema = route?.responses[status]?.schema;
  if (schema) return schema;
  if (status < 400)
    throw new Error(`${method} ${path} answered ${status}, which no route describes`);
  return [401, 429, 500, 503].includes(status) ? errorEnvelope : plainError;
}

function fits(route: Route, pathname: string): boolean {
  return new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`).test(pathname);
}
