import type { Context } from 'hono';
import { AppError } from '../errors.ts';
import type { HttpEnv } from './env.ts';

/** How a request's body is written: JSON, or a form as HTML pages send it. */
export type BodyEncoding = 'json' | 'form';

/** The media type of each. */
export const mediaTypes: Record<BodyEncoding, string> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
};

/**
 * Reads the body of a request as fields; an empty body has none. Throws VALIDATION_ERROR for another
 * media type, for text that is not JSON, and for a NUL character or half a surrogate pair, which Postgres
 * cannot hold.
 */
export async function readBody(c: Context<HttpEnv>, encoding: BodyEncoding): Promise<unknown> {
  const text = await readText(c);
  if (text === '') return {};
  const given = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (given !== mediaTypes[encoding]) {
    throw invalidBody(`must be sent with Content-Type: ${mediaTypes[encoding]}`);
  }
  return encoding === 'json' ? parseJson(text) : parseForm(text);
}

/** The whole body. Throws BAD_REQUEST when its client leaves in the middle, which is no failure of ours. */
export async function readText(c: Context<HttpEnv>): Promise<string> {
  try {
    return await c.req.text();
  } catch (cause) {
    // What is too long is refused while it is read.
    if (!(cause instanceof Error) || cause instanceof AppError) throw cause;
    throw new AppError('BAD_REQUEST', 'the request body could not be read', { cause });
  }
}

/** What only an escape can bring into a text, since the body is UTF-8. */
const suspicious = /\\u(0000|d[89a-f])/i;

function parseJson(text: string): unknown {
  let [holdsNul, holdsHalf] = [false, false];
  let value: unknown;
  try {
    // Looked for only where the text can hold one: a reviver makes parsing several times slower.
    value = suspicious.test(text)
      ? JSON.parse(text, (key, item) => {
          for (const it of [key, item]) {
            if (typeof it !== 'string') continue;
            holdsNul ||= it.includes('\0');
            holdsHalf ||= !it.isWellFormed();
          }
          return item;
        })
      : JSON.parse(text);
  } catch {
    throw invalidBody('must be JSON');
  }
  if (holdsNul) throw invalidBody('must not hold a NUL character');
  if (holdsHalf) throw invalidBody('must not hold half a surrogate pair');
  return value;
}

/** Fields of a form that are read: no form of ours has as many. */
const MAX_FORM_FIELDS = 16;

/** A field that is given twice becomes a list, which no schema of a text accepts. */
function parseForm(text: string): Record<string, string | string[]> {
  const fields = new Map<string, string[]>();
  let count = 0;
  for (const [name, value] of new URLSearchParams(text)) {
    count += 1;
    if (count > MAX_FORM_FIELDS) {
      throw invalidBody(`must not have more than ${MAX_FORM_FIELDS} fields`);
    }
    if (value.includes('\0')) throw invalidBody('must not hold a NUL character');
    const given = fields.get(name);
    if (given) given.push(value);
    else fields.set(name, [value]);
  }
  return Object.fromEntries(
    [...fields].map(([name, [first = '', ...rest]]) => [
      name,
      rest.length === 0 ? first : [first, ...rest],
    ]),
  );
}

function invalidBody(message: string): AppError {
  return new AppError('VALIDATION_ERROR', `the body ${message}`, {
    details: [{ path: 'body', message }],
  });
}
