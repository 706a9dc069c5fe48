import { HTTPException } from 'hono/http-exception';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { createSurface } from '../../lib/http/surface.ts';
import { createTestDeps } from '../support/deps.ts';

const PRIVATE = 'relation "private_table" does not exist';

/** Sends a request to an app whose only handler throws. */
async function answerTo(thrown: unknown) {
  const deps = createTestDeps();
  const app = createSurface(deps);
  app.get('/fails/:id', (c) => {
    c.set('routePattern', '/fails/:id');
    throw thrown;
  });
  const response = await app.request('/fails/7', { headers: { 'X-Request-ID': 'mine' } });
  return { response, text: await response.text(), logged: deps.logged };
}

describe('an error for clients', () => {
  it.each([
    ['BAD_REQUEST', 400],
    ['NOT_FOUND', 404],
    ['METHOD_NOT_ALLOWED', 405],
    ['CONFLICT', 409],
    ['PAYLOAD_TOO_LARGE', 413],
  ] as const)('%s is %i with its message and the request id', async (code, status) => {
    const { response, text } = await answerTo(new AppError(code, 'what is wrong'));
    expect(response.status).toBe(status);
    expect(response.headers.get('Content-Type')).toMatch(/^application\/json/);
    expect(JSON.parse(text)).toEqual({ error: 'what is wrong', request_id: 'mine' });
  });

  it('carries the headers of the error', async () => {
    const error = new AppError('METHOD_NOT_ALLOWED', 'no', { headers: { Allow: 'GET, HEAD' } });
    expect((await answerTo(error)).response.headers.get('Allow')).toBe('GET, HEAD');
  });

  it('is not logged as a failure', async () => {
    expect((await answerTo(new AppError('NOT_FOUND', 'no'))).logged).toEqual([]);
  });
});

describe('an unavailable service', () => {
  const cause = new Error(PRIVATE);

  it('is 503 with the envelope and Retry-After', async () => {
    const { response, text } = await answerTo(
      new AppError('SERVICE_UNAVAILABLE', 'the database is unavailable', { cause }),
    );
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toBe('5');
    expect(JSON.parse(text)).toEqual({
      success: false,
      error: {
        code: 'SERVICE_UNAVAILABLE',
        message: 'the database is unavailable',
        request_id: 'mine',
      },
      message: 'the database is unavailable',
    });
  });

  it('keeps its own Retry-After', async () => {
    const error = new AppError('SERVICE_UNAVAILABLE', 'no', { headers: { 'Retry-After': '30' } });
    expect((await answerTo(error)).response.headers.get('Retry-After')).toBe('30');
  });

  it('is logged with its cause', async () => {
    const { logged } = await answerTo(new AppError('SERVICE_UNAVAILABLE', 'no', { cause }));
    expect(logged).toMatchObject([
      { level: 'warn', request_id: 'mine', error: { cause: { message: PRIVATE } } },
    ]);
  });
});

describe.each<[string, unknown]>([
  ['an Error', new Error(PRIVATE)],
  ['an Error with a cause', new Error('outer', { cause: new Error(PRIVATE) })],
  ['an AppError with the code INTERNAL_ERROR', new AppError('INTERNAL_ERROR', PRIVATE)],
  ['a server error of the framework', new HTTPException(502, { message: PRIVATE })],
  ['a string', PRIVATE],
  ['an object', { detail: PRIVATE }],
  ['null', null],
  ['undefined', undefined],
])('a handler that throws %s', (_name, thrown) => {
  it('returns 500 with the request id, without the cause', async () => {
    const { response, text } = await answerTo(thrown);
    const message = 'internal error, request id mine';
    expect(response.status).toBe(500);
    expect(response.headers.get('X-Request-ID')).toBe('mine');
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(JSON.parse(text)).toEqual({
      success: false,
      error: { code: 'INTERNAL_ERROR', message, request_id: 'mine' },
      message,
    });
  });

  it('logs the thrown value', async () => {
    const { logged } = await answerTo(thrown);
    expect(logged).toMatchObject([
      { level: 'error', request_id: 'mine', method: 'GET', route: '/fails/:id' },
    ]);
    if (thrown) expect(JSON.stringify(logged)).toContain('private_table');
  });
});

describe('an error of the framework', () => {
  it('has our error shape', async () => {
    const { response, text } = await answerTo(
      new HTTPException(400, { message: 'Malformed JSON' }),
    );
    expect(response.status).toBe(400);
    expect(JSON.parse(text)).toEqual({ error: 'Malformed JSON', request_id: 'mine' });
  });
});

describe('an error that cannot be written as JSON', () => {
  it('is still answered and logged', async () => {
    const circular: Record<string, unknown> = { name: 'circular' };
    circular.self = circular;
    const { response, logged } = await answerTo(new Error('outer', { cause: circular }));
    expect(response.status).toBe(500);
    expect(logged).toMatchObject([{ message: 'a request failed', request_id: 'mine' }]);
  });
});

describe('an unknown path', () => {
  it('is 404 with the request id', async () => {
    const app = createSurface(createTestDeps());
    const response = await app.request('/nowhere', { headers: { 'X-Request-ID': 'mine' } });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: 'there is nothing here', request_id: 'mine' });
  });
});
