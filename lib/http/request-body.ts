import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { AppError } from '../errors.ts';
import { scanJson } from '../json.ts';
import type { HttpEnv } from './env.ts';

/** JSON, or a form as sent by HTML pages. */
export type BodyEncoding = 'json' | 'form';

export const mediaTypes: Record<BodyEncoding, string> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
};

/**
 * Parses the body of a request; an empty body is `{}`. Throws VALIDATION_ERROR for another media type, for
 * invalid JSON, for JSON with too many values or levels, and for a NUL character or lone surrogate, which Postgres
 * cannot store.
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

/** The whole body. Throws BAD_REQUEST if the client disconnects while sending. */
export async function readText(c: Context<HttpEnv>): Promise<string> {
  try {
    return await c.req.text();
  } catch (cause) {
    // AppError: limitBody found it too large.
    if (!(cause instanceof Error) || cause instanceof AppError) throw cause;
    throw new AppError('BAD_REQUEST', 'the request body could not be read', { cause });
  }
}

/** Since the body is UTF-8, only an escape can add a NUL character or lone surrogate. */
const suspicious = /\\u(0000|d[89a-f])/i;

function parseJson(text: string): unknown {
  const { excess } = scanJson(text);
  if (excess !== null) throw invalidBody(excess);
  let [hasNul, hasLoneSurrogate] = [false, false];
  let value: unknown;
  try {
    // A reviver makes parsing several times slower: use it only if there is such an escape.
    value = suspicious.test(text)
      ? JSON.parse(text, (key, item) => {
          for (const text of [key, item]) {
            if (typeof text !== 'string') continue;
            hasNul ||= text.includes('\0');
            hasLoneSurrogate ||= !text.isWellFormed();
          }
          return item;
        })
      : JSON.parse(text);
  } catch {
    throw invalidBody('must be JSON');
  }
  if (hasNul) throw invalidBody('must not contain a NUL character');
  if (hasLoneSurrogate) throw invalidBody('must not contain a lone surrogate');
  return value;
}

/** More fields than any of our forms has. */
const MAX_FORM_FIELDS = 16;

/** A repeated field becomes a list, which a schema of a string rejects. */
function parseForm(text: string): Record<string, string | string[]> {
  // Before it is parsed: a megabyte of fields takes a long time.
  if (text.split('&', MAX_FORM_FIELDS + 1).length > MAX_FORM_FIELDS) {
    throw invalidBody(`must not have more than ${MAX_FORM_FIELDS} fields`);
  }
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (value.includes('\0')) throw invalidBody('must not contain a NUL character');
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

/** Largest request body, 1 MiB. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Rejects a body larger than `maxBytes` with 413, by Content-Length or while it is read. */
export function limitBody(maxBytes: number): MiddlewareHandler<HttpEnv> {
  const limit = bodyLimit({
    maxSize: maxBytes,
    onError: () => {
      throw new AppError('PAYLOAD_TOO_LARGE', `the request body is larger than ${maxBytes} bytes`);
    },
  });
  return async (c, next) => {
    // Reading the body builds a whole Request object: skip it for requests that have none.
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    try {
      return await limit(c, next);
    } catch (cause) {
      // Errors of handlers are already handled here: this is a client that stopped sending.
      if (!(cause instanceof Error) || cause instanceof AppError) throw cause;
      throw new AppError('BAD_REQUEST', 'the request body could not be read', { cause });
    }
  };
}
