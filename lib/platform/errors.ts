/**
 * What each error code means to a client: the HTTP status, and the exit code of a command that ends
 * with it. Exhaustive: a code that is not here does not compile. (spec 1, Errors; decisions 7)
 */
export const errorCodes = {
  BAD_REQUEST: { status: 400, exitCode: 2 },
  UNAUTHORIZED: { status: 401, exitCode: 4 },
  NOT_FOUND: { status: 404, exitCode: 1 },
  METHOD_NOT_ALLOWED: { status: 405, exitCode: 1 },
  CONFLICT: { status: 409, exitCode: 1 },
  PAYLOAD_TOO_LARGE: { status: 413, exitCode: 1 },
  RATE_LIMITED: { status: 429, exitCode: 1 },
  INTERNAL_ERROR: { status: 500, exitCode: 1 },
  SERVICE_UNAVAILABLE: { status: 503, exitCode: 1 },
} as const;

export type ErrorCode = keyof typeof errorCodes;

export interface AppErrorOptions {
  /** What went wrong underneath. Logged, never sent to a client. */
  cause?: unknown;
  /** Response headers that belong to this error, such as `Retry-After` or `Allow`. */
  headers?: Record<string, string>;
}

/**
 * An error whose message a client or a person may read. Everything else that is thrown is unknown:
 * it is logged with its cause and answered with a fixed text.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.headers = options.headers ?? {};
  }
}
