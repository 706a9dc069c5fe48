import { SignJWT } from 'jose';
import type { Environment } from '../../lib/config/read.ts';
import { observatoryError } from '../../lib/http/error-shapes.ts';
import type { Route } from '../../lib/http/route.ts';
import { createObservatoryApp, type ObservatoryAppOptions } from '../../lib/observatory/app.ts';
import { observatoryEndpoints } from '../../lib/observatory/observatory-endpoints.ts';
import { createTestDeps, type TestDeps, type TestDepsOptions } from './deps.ts';
import { QUICK_COST } from './passwords.ts';
import { checkShape } from './shape.ts';

/** The signing key of tests, and the user who is in the environment but in no table. */
export const TEST_JWT_SECRET = 'a-signing-key-of-tests-with-40-letters-0';
export const ADA = { username: 'ada', password: 'the password of ada' };

/** The variables of the observatory under test. */
export const observatoryEnvironment: Environment = {
  JWT_SECRET: TEST_JWT_SECRET,
  AUTH_USERNAME: ADA.username,
  AUTH_PASSWORD: ADA.password,
  CREDENTIALS_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
};

export interface ObservatoryAnswer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: every JSON answer is validated against its route's schema.
  body: any;
}

export interface ObservatoryRequest {
  /** Default: ada's token; null sends none. */
  token?: string | null;
  /** Sent as JSON. */
  json?: unknown;
  form?: Record<string, string>;
  /** Sent unchanged. */
  text?: string;
  headers?: Record<string, string>;
  /** The connection's peer address. */
  peer?: string;
}

export interface ObservatoryClient {
  deps: TestDeps;
  send(method: string, path: string, request?: ObservatoryRequest): Promise<ObservatoryAnswer>;
  get(path: string, request?: ObservatoryRequest): Promise<ObservatoryAnswer>;
  post(path: string, json: unknown, request?: ObservatoryRequest): Promise<ObservatoryAnswer>;
  login(
    username: string,
    password: string,
    request?: ObservatoryRequest,
  ): Promise<ObservatoryAnswer>;
  /** A token as the service makes it, or with other claims, another key or algorithm. */
  signToken(username: string, changes?: TokenChanges): Promise<string>;
}

export interface TokenChanges {
  claims?: Record<string, unknown>;
  algorithm?: string;
  secret?: string;
}

/**
 * Calls the observatory as it ships, but by default with passwords that are quick to check. Every JSON answer is
 * validated against the schema of its route or of an error body.
 */
export function createObservatoryClient(
  options: TestDepsOptions & ObservatoryAppOptions = {},
): ObservatoryClient {
  const { askServiceApi, loginCodes, passwordCost = QUICK_COST, ...rest } = options;
  const { hasMcpToken, explainMissingArchives } = options;
  const deps = createTestDeps({
    ...rest,
    environment: { ...observatoryEnvironment, ...rest.environment },
  });
  const app = createObservatoryApp(deps, {
    passwordCost,
    loginCodes,
    hasMcpToken,
    explainMissingArchives,
    ...(askServiceApi ? { askServiceApi } : {}),
  });

  const sign: ObservatoryClient['signToken'] = (username, changes) =>
    signToken(deps, username, changes);

  const send: ObservatoryClient['send'] = async (method, path, request = {}) => {
    const { json, form, headers = {}, peer = '192.0.2.1' } = request;
    const token = request.token === undefined ? await sign(ADA.username) : request.token;
    const response = await app.request(
      path,
      {
        method,
        headers: {
          ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
          ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
        ...(request.text === undefined ? {} : { body: request.text }),
      },
      { incoming: { socket: { remoteAddress: peer } } },
    );
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const body = isJson && text !== '' ? JSON.parse(text) : null;
    if (body !== null) checkShape(schemaOf(method, path, response.status), body);
    return { status: response.status, headers: response.headers, text, body };
  };
  return {
    deps,
    send,
    signToken: sign,
    get: (path, request) => send('GET', path, request),
    post: (path, json, request) => send('POST', path, { ...request, json }),
    login: (username, password, request) =>
      send('POST', '/auth/login', { token: null, ...request, form: { username, password } }),
  };
}

/** A token as the service makes it, or with other claims, another key or algorithm. */
export function signToken(
  { clock }: Pick<TestDeps, 'clock'>,
  username: string,
  { claims, algorithm = 'HS256', secret = TEST_JWT_SECRET }: TokenChanges = {},
): Promise<string> {
  const now = Math.floor(clock.now() / 1000);
  const own = { sub: username, iss: 'backup', aud: 'backup', iat: now, exp: now + 3600 };
  return new SignJWT({ ...own, ...claims })
    .setProtectedHeader({ alg: algorithm })
    .sign(new TextEncoder().encode(secret));
}

function schemaOf(method: string, path: string, status: number) {
  const { pathname } = new URL(path, 'http://localhost');
  const route = observatoryEndpoints
    .map((endpoint) => endpoint.route)
    .find((it) => it.method === method.toLowerCase() && fits(it, pathname));
  const schema = route?.responses[status]?.schema;
  if (schema) return schema;
  if (status < 400)
    throw new Error(`${method} ${path} answered ${status}, which no route describes`);
  return observatoryError;
}

function fits({ path }: Route, pathname: string): boolean {
  return new RegExp(`^(/observatory)?${path.replace(/:\w+/g, '[^/]+')}$`).test(pathname);
}
