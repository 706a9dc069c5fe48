import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { BodyEncoding } from '../../lib/http/request-body.ts';
import { endpoint, mountEndpoints } from '../../lib/http/route.ts';
import { createSurface } from '../../lib/http/surface.ts';
import { createTestDeps } from '../support/deps.ts';

const schema = z.object({
  text: z.string().optional(),
  count: z.coerce.number('must be a number').optional(),
  session_id: z.guid('must be a UUID').optional(),
});

function createApp(encoding: BodyEncoding) {
  const app = createSurface(createTestDeps(), {
    describeError: ({ code, message, details }) => ({
      status: code === 'MALFORMED_ID' ? 422 : code === 'VALIDATION_ERROR' ? 400 : 500,
      headers: {},
      body: { code, message, details },
    }),
  });
  const route = {
    method: 'post',
    path: '/things/:id',
    summary: 'Send a thing',
    tag: 'Things',
    access: 'public',
    params: z.object({ id: z.string() }),
    query: z.object({ page: z.string().regex(/^\d+$/, 'must be an integer').optional() }),
    body: { encoding, schema },
    idFields: ['session_id'],
    responses: { 200: { description: 'It.' } },
  } as const;
  mountEndpoints(
    app,
    [endpoint(route, ({ params, query, body }, _deps, c) => c.json({ params, query, body }))],
    {},
  );
  return async (body: string | null, contentType: string, query = '') => {
    const response = await app.request(`/things/7${query}`, {
      method: 'POST',
      headers: { 'Content-Type': contentType },
      body,
    });
    // biome-ignore lint/suspicious/noExplicitAny: the tests check the shape.
    const answer: any = await response.json();
    return { status: response.status, body: answer };
  };
}

const json = createApp('json');
const form = createApp('form');
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

describe('an endpoint with a JSON body', () => {
  it.each([JSON_TYPE, 'Application/JSON; charset=utf-8'])('reads it as %s', async (type) => {
    expect(await json('{"text":"é","count":3,"else":1}', type, '?page=2')).toEqual({
      status: 200,
      body: { params: { id: '7' }, query: { page: '2' }, body: { text: 'é', count: 3 } },
    });
  });

  it('treats a missing body as an empty object', async () => {
    expect((await json(null, JSON_TYPE)).body).toMatchObject({ body: {} });
  });

  it.each([
    ['another media type', '{}', 'text/plain'],
    ['truncated JSON', '{"text":', JSON_TYPE],
    ['a NUL character', '{"text":"a\\u0000"}', JSON_TYPE],
    ['a lone surrogate', '{"text":"a\\uD83D"}', JSON_TYPE],
    ['a lone surrogate in a name', '{"\\ude00":1}', JSON_TYPE],
    ['a NUL character in a name', '{"a\\u0000":1}', JSON_TYPE],
    ['JSON that is nested too deeply', '{"a":'.repeat(100_000), JSON_TYPE],
    ['JSON with too many values', `{"a":[${'1,'.repeat(20_000)}1]}`, JSON_TYPE],
  ])('rejects %s', async (_case, body, type) => {
    expect(await json(body, type)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR', details: [{ path: 'body' }] },
    });
  });

  it('accepts an escaped backslash before u0000', async () => {
    expect((await json('{"text":"\\\\u0000"}', JSON_TYPE)).body.body.text).toBe('\\u0000');
  });

  it('accepts an escaped surrogate pair', async () => {
    expect((await json('{"text":"\\ud83d\\ude00"}', JSON_TYPE)).body.body.text).toBe('😀');
  });

  it('accepts property names of Object.prototype', async () => {
    const { body } = await json('{"__proto__":{"text":"x"},"constructor":1}', JSON_TYPE);
    expect(body.body).toEqual({});
  });

  it('names the invalid fields', async () => {
    expect(await json('{"text":1,"count":"x"}', JSON_TYPE)).toEqual({
      status: 400,
      body: {
        code: 'VALIDATION_ERROR',
        message: expect.stringMatching(/^text .*; count must be a number$/),
        details: [
          { path: 'text', message: expect.any(String) },
          { path: 'count', message: 'must be a number' },
        ],
      },
    });
  });

  it.each([
    ['a malformed id', '{"session_id":"x"}'],
    ['an id that is not a string', '{"session_id":7}'],
    ['a malformed id together with another fault', '{"session_id":"x","count":"x"}'],
  ])('answers 422 for %s', async (_case, body) => {
    expect(await json(body, JSON_TYPE)).toMatchObject({
      status: 422,
      body: { code: 'MALFORMED_ID' },
    });
  });

  it('reads the query before the body', async () => {
    expect((await json('{', JSON_TYPE, '?page=x')).body.details).toEqual([
      { path: 'page', message: 'must be an integer' },
    ]);
  });
});

const fieldsOf = (count: number) => Array.from({ length: count }, (_, n) => `k${n}=1`).join('&');

describe('an endpoint with a form', () => {
  it('accepts 16 fields', async () => {
    const { body } = await form(`text=a&${fieldsOf(15)}`, FORM_TYPE);
    expect(body.body).toEqual({ text: 'a' });
  });

  it('reads the fields of its body', async () => {
    const { body } = await form('text=a+b%26c&count=3', FORM_TYPE);
    expect(body.body).toEqual({ text: 'a b&c', count: 3 });
  });

  it.each([
    ['JSON', '{}', JSON_TYPE, 'body'],
    ['a repeated field', 'text=a&text=b', FORM_TYPE, 'text'],
    ['a NUL character', 'text=%00', FORM_TYPE, 'body'],
    ['17 fields of different names', fieldsOf(17), FORM_TYPE, 'body'],
    ['17 empty fields', '&'.repeat(17), FORM_TYPE, 'body'],
    ['17 fields of one name', 'text=a&'.repeat(17), FORM_TYPE, 'body'],
  ])('rejects %s', async (_case, body, type, path) => {
    expect(await form(body, type)).toMatchObject({ status: 400, body: { details: [{ path }] } });
  });
});
