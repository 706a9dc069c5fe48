import { type ErrorCode, errorCodes } from '../../lib/errors.ts';

/** The meaning of each code. A missing code does not compile. */
const meanings: Record<Exclude<ErrorCode, 'MALFORMED_ID'>, string> = {
  BAD_REQUEST: 'the request is malformed',
  VALIDATION_ERROR:
    'a field has an invalid value (400), or an id is malformed (422); `details` lists each problem',
  MODEL_NOT_ALLOWED: 'the model is not in the list of models',
  RECIPIENT_NOT_ALLOWED: 'a recipient is not in `SMTP_TO`; the message lists the allowed ones',
  UNKNOWN_REPORT_TYPE: 'the report type does not exist',
  GATEWAY_EXCHANGE_FAILED: 'the model gateway rejected the code of a login',
  UNAUTHORIZED: 'the credential is missing, wrong or expired',
  GATEWAY_OUT_OF_CREDITS: 'the key has no credit left at the model gateway',
  GATEWAY_KEY_INVALID: 'the model gateway rejected your own key: connect it again',
  CONFIRMATION_REQUIRED: "the tool needs a person's approval, which cannot be requested here",
  FORBIDDEN:
    'this user may not do it, or requests from pages of this origin, or with this Host, are not allowed',
  NOT_FOUND: 'it does not exist, or belongs to another user',
  METHOD_NOT_ALLOWED: 'the path does not support this method; `Allow` lists those it does',
  CONFLICT:
    'the current state does not allow it: already decided, already taken, or still being built',
  PAYLOAD_TOO_LARGE: 'the body is too large',
  UPGRADE_REQUIRED: 'the path is for WebSockets only',
  RATE_LIMITED:
    'too many requests in this minute or at a time: wait for the seconds in `Retry-After`',
  LOGIN_LOCKED: 'too many failed logins: wait for the seconds in `Retry-After`',
  GATEWAY_RATE_LIMITED: 'the model gateway limits requests: try again later',
  INTERNAL_ERROR: 'an error in the server; its log has the cause with the request id',
  GATEWAY_BAD_REQUEST: 'the model gateway rejected the request',
  GATEWAY_ERROR: 'the model gateway failed',
  GATEWAY_UNAVAILABLE: 'the model gateway does not answer',
  GATEWAY_EXCHANGE_UNAVAILABLE: 'the model gateway did not answer a login',
  EMAIL_DELIVERY_FAILED: 'the mail was not delivered; the report is stored',
  SERVICE_UNAVAILABLE:
    'a required service does not answer or is not configured, or the server is overloaded',
  CREDENTIAL_STORAGE_UNAVAILABLE: 'stored keys or logins cannot be read or written',
  MODEL_REGISTRY_UNAVAILABLE: 'the list of models is not available',
  GATEWAY_NOT_CONFIGURED: 'no gateway key is available to you',
  DEADLINE_EXCEEDED: 'the request took too long',
};

/** Code, status, exit code and meaning of every error. */
export function errorRows(): string[][] {
  return Object.entries(meanings).map(([code, meaning]) => {
    const { status, exitCode } = errorCodes[code as keyof typeof meanings];
    const statuses = code === 'VALIDATION_ERROR' ? `${status}, 422` : `${status}`;
    return [`\`${code}\``, statuses, `${exitCode}`, meaning];
  });
}
