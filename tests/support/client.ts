import { createBackupsApp } from '../../lib/backups/app.ts';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import { errorEnvelope, plainError } from '../../lib/http/error-shapes.ts';
import type { Route } from '../../lib/http/route.ts';
import { createTestDeps, type TestDeps, type TestDepsOptions, withSecret } from './deps.ts';
import { checkShape } from './shape.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body of a JSON answer, else null. */
  body: unknown;
}

export interface Client {
  deps: TestDeps;
  /** Sends the internal secret unless `headers` are given. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  send(method: string, path: string, headers?: Record<string, string>): Promise<Answer>;
}

/**
 * Calls the service API as it ships. Every JSON answer is validated against the schema of its route, or that
 * of an error's body, so a test that asks for anything checks fields, types and order.
 */
export function createClient(options: TestDepsOptions = {}): Client {
  const deps = createTestDeps(options);
  const app = createBackupsApp(deps);
  const send: Client['send'] = async (method, path, headers = withSecret) => {
    const response = await app.request(path, { method, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const body: unknown = isJson && text !== '' ? JSON.parse(text) : null;
    if (body !== null) checkShape(schemaOf(method, path, response.status), body);
    return { status: response.status, headers: response.headers, text, body };
  };
  return { deps, send, get: (path, headers) => send('GET', path, headers) };
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
