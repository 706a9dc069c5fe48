import { ChannelError } from '../../channels/channel.ts';
import type { Clock } from '../../clock.ts';
import { readBoundedText } from '../../http/bounded-text.ts';
import { parseJson } from '../../json.ts';
import { cleanText } from '../../text/clean-text.ts';

const MAX_ANSWER_BYTES = 16 * 1024;
const MAX_REASON = 150;
const MAX_WAIT_MS = 24 * 60 * 60_000;
/** Statuses below 500 that are worth a retry. An Apprise API answers 424 if one of its services failed. */
const transient = new Set([408, 424, 425, 429]);
/** Error codes of connections over which nothing was sent. */
const neverSent =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_.*|.*_CERT.*|ERR_TLS.*|ERR_SSL.*|ERR_PROXY_TUNNEL)$/;

/** What is needed to send a request to a service. */
export interface PostDeps {
  fetch: typeof fetch;
  clock: Pick<Clock, 'now'>;
}

interface PostOptions {
  /** The name of the service, for errors. */
  service: string;
  method?: 'PUT';
  url: string;
  headers?: Record<string, string>;
  /** The JSON to send. */
  body: string;
  signal: AbortSignal;
  /** Whether the reason in an answer may be shown, which is safe only for known services. */
  isPublicService: boolean;
  /** Texts that must not be shown: a reason that contains one is dropped. */
  secrets: readonly string[];
  /** What the error codes (`errcode`) of a refusal mean. */
  reasons?: Readonly<Record<string, string>>;
}

/**
 * Posts a message. Answers are read up to a limit, and only to explain a refusal. Redirects are not followed, since
 * they would take secrets elsewhere. Throws ChannelError.
 */
export async function post(deps: PostDeps, options: PostOptions): Promise<Response> {
  const { service, method = 'POST', url, headers, body, signal } = options;
  let response: Response;
  try {
    response = await deps.fetch(url, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal,
    });
  } catch (error) {
    throw describeFailure(service, error, signal);
  }
  if (response.ok) {
    // The message was accepted: a connection that breaks now does not matter.
    await response.body?.cancel().catch(() => undefined);
    return response;
  }
  throw await describeRefusal(deps, response, options);
}

function describeFailure(service: string, error: unknown, signal: AbortSignal): ChannelError {
  if (error instanceof ChannelError) return error;
  if (signal.aborted) {
    return new ChannelError(`${service} did not answer in time`, {
      retryable: true,
      mayHaveArrived: true,
    });
  }
  const { code } = ((error as { cause?: unknown }).cause ?? {}) as { code?: unknown };
  const shown = typeof code === 'string' && /^[A-Z_]{1,50}$/.test(code) ? code : null;
  return new ChannelError(`${service} cannot be reached${shown === null ? '' : ` (${shown})`}`, {
    retryable: true,
    mayHaveArrived: shown === null || !neverSent.test(shown),
  });
}

async function describeRefusal(
  { clock }: PostDeps,
  response: Response,
  { service, isPublicService, secrets, reasons = {} }: PostOptions,
): Promise<ChannelError> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel().catch(() => undefined);
    const message = `${service} answered with a redirect (${status}), which is not followed`;
    return new ChannelError(message, { retryable: false });
  }
  // It is a refusal even if its body cannot be read.
  const text = await readBoundedText(response, MAX_ANSWER_BYTES).catch(() => '');
  const { errcode } = Object(parseJson(text)) as Record<string, unknown>;
  // These texts are ours, so they may be shown for every server.
  const known = new Map(Object.entries(reasons)).get(String(errcode));
  const reason = known ?? (isPublicService ? readReason(text, secrets) : '');
  const isFault = status >= 500;
  // A service that says when to come back has not accepted the message.
  const isBusy = status === 503 && headers.has('Retry-After');
  return new ChannelError(`${service} answered ${status}${reason === '' ? '' : `: ${reason}`}`, {
    retryable: isFault || transient.has(status),
    retryAfterMs: readWait(headers.get('Retry-After'), text, clock.now()),
    mayHaveArrived: (isFault && !isBusy) || status === 408 || status === 424,
  });
}

/** Reads the field in which services report an error, or a plain text. */
function readReason(text: string, secrets: readonly string[]): string {
  const { description, message, error } = Object(parseJson(text)) as Record<string, unknown>;
  const said = [description, message, error, /^[\w .,:-]{1,150}$/.test(text) ? text : null].find(
    (it) => typeof it === 'string',
  );
  const whole = typeof said === 'string' ? said : '';
  const reason = cleanText(whole, MAX_REASON);
  // Checks the whole text as well, because cutting it may leave part of a secret.
  const texts = [whole, reason];
  return secrets.filter(Boolean).some((part) => texts.some((it) => it.includes(part)))
    ? ''
    : reason;
}

/** Reads how long to wait, in milliseconds, from a header (seconds or a date) or from the body. */
function readWait(header: string | null, text: string, now: number): number | undefined {
  const { retry_after, retry_after_ms, parameters } = Object(parseJson(text)) as Record<
    string,
    unknown
  >;
  const inMs = typeof retry_after_ms === 'number' ? retry_after_ms / 1_000 : undefined;
  const inBody = inMs ?? retry_after ?? (Object(parameters) as Record<string, unknown>).retry_after;
  const seconds = header ?? (typeof inBody === 'number' ? inBody : null);
  if (seconds === null) return undefined;
  const ms = Number.isNaN(Number(seconds))
    ? Date.parse(String(seconds)) - now
    : Number(seconds) * 1_000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(Math.ceil(ms), 0), MAX_WAIT_MS);
}
