import type { Clock } from '../../platform/clock.ts';
import { type GitHostConfig, gitApiUrl } from '../../platform/config/git-host.ts';
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

/** A host that sends a request on more often than this sends it in a circle. */
const MOST_REDIRECTS = 5;
const redirects = [301, 302, 303, 307, 308];

/**
 * The connection's fetch, which ends with its signal and after 30 seconds. What only reads is sent on by
 * the host to addresses of its own, as those of a repository that was renamed; nothing is sent on to
 * another host.
 */
export function fetchWithin({ fetch, signal }: GitHostConnection): typeof fetch {
  return async (input, init = {}) => {
    const signals = [
      signal,
      AbortSignal.timeout(REQUEST_LIMIT_MS),
      ...(init.signal ? [init.signal] : []),
    ];
    const options = { ...init, redirect: init.redirect ?? 'manual' } as const;
    const ending = AbortSignal.any(signals);
    let { url } = new Request(input);
    for (let count = 0; ; count += 1) {
      const response = await fetch(url, { ...options, signal: ending });
      if (!redirects.includes(response.status)) return response;
      await response.body?.cancel();
      const next = URL.parse(response.headers.get('location') ?? '', url);
      const isOwn = next !== null && next.origin === new URL(url).origin;
      if (!isOwn || count === MOST_REDIRECTS || (init.method ?? 'GET') !== 'GET') {
        throw new Error('the git host sends the request elsewhere, where it does not go');
      }
      url = next.href;
    }
  };
}
