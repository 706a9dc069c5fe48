import createClient, { type Middleware } from 'openapi-fetch';
import { basePath } from './base-path.ts';
import { fetchOrTakeEarly } from './early.ts';
import type { components, paths } from './schema.ts';

export type Schemas = components['schemas'];

/** What is wrong with a field of a request. */
export interface FieldError {
  path: string;
  message: string;
}

/** A failed request: the server's message, and the request id to look for in its log. */
export class ApiError extends Error {
  readonly status: number;
  readonly requestId: string | null;
  /** The server's error code, such as `NOT_FOUND`. */
  readonly code: string | null;
  /** What is wrong with each field of the request; empty if that is not the error. */
  readonly fields: readonly FieldError[];

  constructor(
    message: string,
    status: number,
    requestId: string | null,
    { code = null, fields = [] }: { code?: string | null; fields?: readonly FieldError[] } = {},
  ) {
    super(message);
    this.code = code;
    this.fields = fields;
    this.status = status;
    this.requestId = requestId;
  }
}

/** Turns every failure into an `ApiError`, whatever the shape of the error body. */
const throwErrors: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return;
    const body: unknown = await response.json().catch(() => null);
    throw new ApiError(
      textIn(body, 'message') ?? `the server answered ${response.status}`,
      response.status,
      response.headers.get('X-Request-ID'),
      { code: textIn(body, 'code'), fields: fieldsIn(body) },
    );
  },
  onError() {
    return new ApiError('the server cannot be reached', 0, null);
  },
};

/** A text field of the error body. An error that is a string is the message itself. */
function textIn(body: unknown, field: 'message' | 'code'): string | null {
  const { error } = Object(body) as { error?: unknown };
  if (typeof error === 'string') return field === 'message' ? error : null;
  const value = (Object(error) as Record<string, unknown>)[field];
  return typeof value === 'string' ? value : null;
}

/** What is wrong with each field, wherever the error body has it. */
function fieldsIn(body: unknown): readonly FieldError[] {
  const { details, error } = Object(body) as { details?: unknown; error?: unknown };
  const found = details ?? (Object(error) as { details?: unknown }).details;
  return Array.isArray(found) ? (found as FieldError[]) : [];
}

/** The client of the server that serves the page. The browser adds the session cookie. */
export const api = createClient<paths>({ baseUrl: `${basePath}/`, fetch: fetchOrTakeEarly });
api.use(throwErrors);

/** The body of a response. Failures have been thrown already. */
export async function body<Data>(answer: Promise<{ data?: Data }>): Promise<Data> {
  return (await answer).data as Data;
}
