import { type ErrorCode, errorCodes } from '../lib/errors.ts';

/** What each code tells a client; a code without a text does not compile. */
const meanings: Record<Exclude<ErrorCode, 'MALFORMED_ID'>, string> = {
  BAD_REQUEST: 'the request is malformed',
  VALIDATION_ERROR:
    'a field has an invalid value (400), or an id is malformed (422); `details` lists each fault',
  MODEL_NOT_ALLOWED: 'the model is not one of those listed',
  RECIPIENT_NOT_ALLOWED: 'a recipient is not in `SMTP_TO`; the message names those that are',
  UNKNOWN_REPORT_TYPE: 'there is no such type of report',
  GATEWAY_EXCHANGE_FAILED: 'the model gateway rejected the code of a login',
  UNAUTHORIZED: 'the credential is missing, wrong or expired',
  GATEWAY_OUT_OF_CREDITS: 'the key has no credit left at the model gateway',
  GATEWAY_KEY_INVALID: 'the model gateway rejected your own key: connect it again',
  CONFIRMATION_REQUIRED: 'the tool needs the approval of a person, who cannot be asked here',
  FORBIDDEN: 'a page of this origin, or a request with this Host, may not ask',
  NOT_FOUND: 'it does not exist, or belongs to somebody else',
  METHOD_NOT_ALLOWED: 'the path has other methods; `Allow` lists them',
  CONFLICT: 'the state does not allow it: already decided, already taken, or still being built',
  PAYLOAD_TOO_LARGE: 'the body is too large',
  UPGRADE_REQUIRED: 'the path is for WebSockets only',
  RATE_LIMITED: 'too many requests: wait as long as `Retry-After` says',
  LOGIN_LOCKED: 'too many failed logins: wait as long as `Retry-After` says',
  GATEWAY_RATE_LIMITED: 'the model gateway limits requests: try again later',
  INTERNAL_ERROR: 'a fault of the server; its log has the cause under the request id',
  GATEWAY_BAD_REQUEST: 'the model gateway rejected the request',
  GATEWAY_ERROR: 'the model gateway failed',
  GATEWAY_UNAVAILABLE: 'the model gateway does not answer',
  GATEWAY_EXCHANGE_UNAVAILABLE: 'the model gateway did not answer a login',
  EMAIL_DELIVERY_FAILED: 'the mail was not delivered; the report is kept',
  SERVICE_UNAVAILABLE:
    'a part that is needed does not answer or is not configured, or the server is overloaded',
  CREDENTIAL_STORAGE_UNAVAILABLE: 'stored keys or logins cannot be read or written',
  MODEL_REGISTRY_UNAVAILABLE: 'the list of models cannot be read',
  GATEWAY_NOT_CONFIGURED: 'there is no key that you may use',
  DEADLINE_EXCEEDED: 'the answer took too long',
};

/** Code, status, exit code and meaning of every error that a client can get. */
export function errorRows(): string[][] {
  return Object.entries(meanings).map(([code, meaning]) => {
    const { status, exitCode } = errorCodes[code as keyof typeof meanings];
    const statuses = code === 'VALIDATION_ERROR' ? `${status}, 422` : `${status}`;
    return [`\`${code}\``, statuses, `${exitCode}`, meaning];
  });
}
