import { cleanText } from '../../text/clean-text.ts';
import { StoreFault, type StoreFaultKind } from '../object-store.ts';

const MAX_REASON_LENGTH = 300;
const NO_REGION = 'Region is missing';

/** An error of the S3 client, with the names that stores use. */
interface S3Error extends Error {
  $metadata?: { httpStatusCode?: number };
  code?: string;
}

/** Whether an object, a bucket or an upload does not exist. */
export function isMissing(error: unknown, ...names: string[]): boolean {
  const { name, $metadata } = error as S3Error;
  return names.includes(name) || (name === 'NotFound' && $metadata?.httpStatusCode === 404);
}

/** Whether the store refused because the key is taken, or is being taken right now. */
export function isTaken(error: unknown): boolean {
  const { name, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  return (
    status === 412 ||
    (status === 409 && /^(?:ConditionalRequestConflict|OperationAborted)$/.test(name)) ||
    name === 'PreconditionFailed'
  );
}

/** Converts an error of the S3 client to a store fault. `secrets` are cut out: a store may echo what it was sent. */
export function explainS3Error(
  address: string,
  error: unknown,
  secrets: readonly string[],
): StoreFault {
  const { name, message, $metadata, code } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  const kind = message === NO_REGION ? 'other' : kindOf(name, status, code);
  const answer = status === undefined ? '' : ` (${status})`;
  const text = secrets.reduce(
    (rest, secret) => rest.replaceAll(secret, '…'),
    `${name}: ${message}`,
  );
  const reason = cleanText(text, MAX_REASON_LENGTH);
  return new StoreFault(kind, `${address}: ${reason}${answer}${adviceOn(name, message)}`);
}

/** Advice for an error of the client that contains none. */
function adviceOn(name: string, message: string): string {
  if (message === NO_REGION) return '; add `region=…` to the address, or set AWS_REGION';
  if (name !== 'CredentialsProviderError') return '';
  return '; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add `profile=…` to the address';
}

function kindOf(name: string, status: number | undefined, code?: string): StoreFaultKind {
  if (name === 'NoSuchBucket' || name === 'PermanentRedirect') return 'missing';
  if (/BadDigest|ChecksumMismatch|InvalidDigest|ContentSHA256Mismatch/.test(name)) return 'damaged';
  if (/InsufficientStorage|QuotaExceeded|EntityTooLarge/.test(name) || status === 507)
    return 'full';
  if (name === 'CredentialsProviderError' || status === 401 || status === 403) return 'denied';
  if (/^(?:ExpiredToken|InvalidToken|TokenRefreshRequired)/.test(name)) return 'denied';
  const isQuiet = status === undefined || status >= 500 || status === 408 || status === 429;
  return isQuiet || code !== undefined ? 'away' : 'other';
}
