import { cleanText } from '../../text/clean-text.ts';
import { formatDuration } from '../../text/units.ts';
import { StoreFault, type StoreFaultKind } from '../base/object-store.ts';

const MAX_REASON_LENGTH = 300;
/** What S3 and others answer to a request whose time is not theirs. */
const clockFaults =
  /^(?:RequestTimeTooSkewed|RequestExpired|RequestInTheFuture|AuthFailure|InvalidSignatureException|SignatureDoesNotMatch|AccessDenied)$/;
const MAX_CLOCK_DIFFERENCE_MS = 4 * 60_000;
const NO_REGION = 'Region is missing';

/** An error of the S3 client, with the names that stores use. */
interface S3Error extends Error {
  /** The region in the body of some refusals. */
  Region?: string;
  /** The time of the store, in the refusal of a request with another time. */
  ServerTime?: string;
  $response?: { headers?: Record<string, string> };
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

/**
 * Converts an error of the S3 client to a store fault. `secrets` are cut out: a store may echo what it was sent. `now`
 * is the time of this machine, in milliseconds.
 */
export function explainS3Error(
  address: string,
  error: unknown,
  { secrets, now }: { secrets: readonly string[]; now: number },
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
  return new StoreFault(kind, `${address}: ${reason}${answer}${adviceOn(error as S3Error, now)}`);
}

/** Advice for an error that contains none. */
function adviceOn(error: S3Error, now: number): string {
  const { name, message } = error;
  const off = clockDifference(error, now);
  if (off !== null) {
    const [amount, way] = [formatDuration(Math.abs(off)), off > 0 ? 'behind' : 'ahead of'];
    return `; the clock of this machine is ${amount} ${way} that of the store: set it, for example with NTP`;
  }
  const region = regionOf(error);
  if (region !== null)
    return `; the bucket is in the region ${region}: add \`region=${region}\` to the address`;
  if (message === NO_REGION) return '; add `region=…` to the address, or set AWS_REGION';
  if (name !== 'CredentialsProviderError') return '';
  return '; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add `profile=…` to the address';
}

/** The region that a store names when it refuses a request because of another; null if it names none. */
function regionOf({ name, Region, $metadata, $response }: S3Error): string | null {
  const named = $response?.headers?.['x-amz-bucket-region'] ?? Region ?? '';
  const isOther =
    [301, 307].includes($metadata?.httpStatusCode ?? 0) ||
    /^(?:PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/.test(
      name,
    );
  return isOther && /^[a-z0-9-]{1,50}$/.test(named) ? named : null;
}

/** Milliseconds by which the store's clock is ahead of ours, if it refused a request because of that; else null. */
function clockDifference({ name, ServerTime, $response }: S3Error, now: number): number | null {
  if (!clockFaults.test(name)) return null;
  const stated = Date.parse(ServerTime ?? $response?.headers?.date ?? '');
  const off = stated - now;
  // The signature may also be wrong for another reason.
  return Math.abs(off) > MAX_CLOCK_DIFFERENCE_MS ? off : null;
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
