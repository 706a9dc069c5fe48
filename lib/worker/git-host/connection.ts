import type { Clock } from '../../platform/clock.ts';
import { type GitHostConfig, gitApiUrl } from '../../platform/config/worker.ts';
import { version } from '../../platform/version.ts';

/** What every request to the git host needs. */
export interface GitHostConnection {
  /** Origin of the host's pages and logins. */
  hostUrl: string;
  /** Address of its API, without a slash at the end. */
  apiUrl: string;
  fetch: typeof fetch;
  clock: Clock;
  /** Aborts what is under way. */
  signal: AbortSignal;
}

export const userAgent = `backup-observatory/${version}`;

/** Seconds of silence after which a request is given up. */
const REQUEST_LIMIT_MS = 30_000;

/** Connects to the host of the configuration; nothing is sent yet. */
export function connectGitHost(
  config: GitHostConfig,
  handles: Pick<GitHostConnection, 'fetch' | 'clock' | 'signal'>,
): GitHostConnection {
  return { hostUrl: config.GIT_HOST_URL, apiUrl: gitApiUrl(config), ...handles };
}

/** The connection's fetch, which ends with its signal and after 30 seconds. */
export function fetchWithin({ fetch, signal }: GitHostConnection): typeof fetch {
  return (input, init) => {
    const signals = [
      signal,
      AbortSignal.timeout(REQUEST_LIMIT_MS),
      ...(init?.signal ? [init.signal] : []),
    ];
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };
}
