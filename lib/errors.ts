/**
 * All error codes, with their HTTP status and the exit code of a command that fails with them.
 */
export const errorCodes = {
  BAD_REQUEST: { status: 400, exitCode: 2 },
  /** Input that does not match its schema; see `details`. */
  VALIDATION_ERROR: { status: 400, exitCode: 2 },
  MODEL_NOT_ALLOWED: { status: 400, exitCode: 2 },
  RECIPIENT_NOT_ALLOWED: { status: 400, exitCode: 2 },
  UNKNOWN_REPORT_TYPE: { status: 400, exitCode: 2 },
  /** The gateway rejected the authorization code. */
  GATEWAY_EXCHANGE_FAILED: { status: 400, exitCode: 1 },
  UNAUTHORIZED: { status: 401, exitCode: 4 },
  GATEWAY_OUT_OF_CREDITS: { status: 402, exitCode: 1 },
  /** Not 401, so that the dashboard does not log the user out. */
  GATEWAY_KEY_INVALID: { status: 403, exitCode: 4 },
  /** A tool that needs confirmation was called where it cannot be confirmed. */
  CONFIRMATION_REQUIRED: { status: 403, exitCode: 1 },
  /** A disallowed origin or host name. */
  FORBIDDEN: { status: 403, exitCode: 1 },
  NOT_FOUND: { status: 404, exitCode: 1 },
  METHOD_NOT_ALLOWED: { status: 405, exitCode: 1 },
  CONFLICT: { status: 409, exitCode: 1 },
  PAYLOAD_TOO_LARGE: { status: 413, exitCode: 1 },
  /** A malformed session_id, confirm_id or report_id: sent as VALIDATION_ERROR. */
  MALFORMED_ID: { status: 422, exitCode: 2 },
  UPGRADE_REQUIRED: { status: 426, exitCode: 1 },
  RATE_LIMITED: { status: 429, exitCode: 1 },
  LOGIN_LOCKED: { status: 429, exitCode: 1 },
  GATEWAY_RATE_LIMITED: { status: 429, exitCode: 1 },
  INTERNAL_ERROR: { status: 500, exitCode: 1 },
  GATEWAY_BAD_REQUEST: { status: 502, exitCode: 1 },
  GATEWAY_ERROR: { status: 502, exitCode: 1 },
  GATEWAY_UNAVAILABLE: { status: 502, exitCode: 1 },
  GATEWAY_EXCHANGE_UNAVAILABLE: { status: 502, exitCode: 1 },
  EMAIL_DELIVERY_FAILED: { status: 502, exitCode: 1 },
  SERVICE_UNAVAILABLE: { status: 503, exitCode: 1 },
  CREDENTIAL_STORAGE_UNAVAILABLE: { status: 503, exitCode: 1 },
  MODEL_REGISTRY_UNAVAILABLE: { status: 503, exitCode: 1 },
  GATEWAY_NOT_CONFIGURED: { status: 503, exitCode: 1 },
  DEADLINE_EXCEEDED: { status: 504, exitCode: 1 },
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** An invalid field, such as `weights.0`, and what is wrong with it. */
export interface ErrorDetail {
  path: string;
  message: string;
}

export interface AppErrorOptions {
  /** The underlying error. Logged, never sent to clients. */
  cause?: unknown;
  /** Response headers for this error, such as `Retry-After` or `Allow`. */
  headers?: Record<string, string>;
  /** The invalid fields of an input. */
  details?: readonly ErrorDetail[];
  /** Extra fields in the observatory's error body, such as the report's id. */
  fields?: Readonly<Record<string, string>>;
}

/**
 * An error whose message may be shown to clients. Any other error is logged and answered with a generic
 * message.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly headers: Record<string, string>;
  readonly details: readonly ErrorDetail[];
  readonly fields: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.headers = options.headers ?? {};
    this.details = options.details ?? [];
    this.fields = options.fields ?? {};
  }
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message of a thrown value, followed by the message of its cause if it has one. */
export function messageWithCause(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? `${messageOf(error)}: ${cause.message}` : messageOf(error);
}
