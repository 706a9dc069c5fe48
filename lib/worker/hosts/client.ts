import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { fetchWithin, type GitHostConnection, userAgent } from './connection.ts';

/** A client of the git host's API: `request('GET /user')`. Throws RequestError. */
export type GitHostClient = Pick<Octokit, 'request'>;

interface GitHostClientOptions {
  connection: GitHostConnection;
  /** The token for the next request; null for none. Called for each one, because tokens expire. */
  token(): Promise<string | null>;
  notify(text: string): void;
  /** Milliseconds before the first retry. */
  retryPauseMs?: number;
}

/** Longer rate limits are errors. */
const MAX_WAITS = 20;
const MAX_WAIT_SECONDS = 2 * 3_600;

const ApiClient = Octokit.plugin(retry, throttling);

/**
 * Creates a client that retries failures of the host or the network up to 3 times and waits until rate limits
 * end, notifying the user.
 */
export function createGitHostClient(options: GitHostClientOptions): GitHostClient {
  const { connection, token, notify, retryPauseMs = 1_000 } = options;
  const { clock, signal } = connection;

  const waitOut = async (seconds: number, _request: object, _client: object, waits: number) => {
    if (waits >= MAX_WAITS || seconds > MAX_WAIT_SECONDS) return false;
    const end = new Date(clock.now() + seconds * 1_000);
    notify(
      `rate limit of the git host: waiting ${describeSeconds(seconds)}, until ${end.toISOString().slice(11, 19)} UTC`,
    );
    await clock.sleep(seconds * 1_000, signal);
    return true;
  };

  const client = new ApiClient({
    baseUrl: connection.apiUrl,
    userAgent,
    request: { fetch: fetchWithin(connection) },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    retry: { retryAfterBaseValue: retryPauseMs },
    // We wait ourselves, so that the wait can be shown and interrupted.
    throttle: { onRateLimit: waitOut, onSecondaryRateLimit: waitOut, retryAfterBaseValue: 0 },
  });
  client.hook.before('request', async (request) => {
    const value = await token();
    request.headers['x-github-api-version'] = '2022-11-28';
    if (value !== null) request.headers.authorization = `Bearer ${value}`;
  });
  client.hook.error('request', (error) => {
    signal.throwIfAborted();
    throw error;
  });
  return client;
}

/** What the plugins would log is shown by `waitOut` or thrown. */
const ignore = () => undefined;

/** `45 s`, `12 min`. */
function describeSeconds(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}
