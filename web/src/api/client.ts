import createClient, { type Middleware } from 'openapi-fetch';
import { fetchOrTakeEarly } from './early.ts';
import type { components, paths } from './schema.ts';

export type Schemas = components['schemas'];

/** A request that failed: what the server says, and the id under which its log has more. */
export class ApiError extends Error {
  readonly status: number;
  readonly requestId: string | null;
  /** What kind of failure it is, where the server says so: `NOT_FOUND`. */
  readonly code: string | null;

  constructor(
    message: string,
    status: number,
    requestId: string | null,
    code: string | null = null,
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.requestId = requestId;
  }
}

/** Makes every failure an ApiError, whichever of the server's error bodies it has. */
const throwErrors: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return;
    const body: unknown = await response.json().catch(() => null);
    throw new ApiError(
      textIn(body, 'message') ?? `the server answered ${response.status}`,
      response.status,
      response.headers.get('X-Request-ID'),
      textIn(body, 'code'),
    );
  },
  onError() {
    return new ApiError('the server cannot be reached', 0, null);
  },
};

/** A field of the error; an error that is a text is its own message. */
function textIn(body: unknown, field: 'message' | 'code'): string | null {
  const { error } = Object(body) as { error?: unknown };
  if (typeof error === 'string') return field === 'message' ? error : null;
  const value = (Object(error) as Record<string, unknown>)[field];
  return typeof value === 'string' ? value : null;
}

/** Asks the server that the page is from. The browser adds the session cookie. */
export const api = createClient<paths>({ baseUrl: '/', fetch: fetchOrTakeEarly });
api.use(throwErrors);

/** The body of an answer; a failure has been thrown before. */
export async function body<Data>(answer: Promise<{ data?: Data }>): Promise<Data> {
  return (await answer).data as Data;
}
