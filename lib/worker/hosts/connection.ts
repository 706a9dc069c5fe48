import type { Clock } from '../../clock.ts';
import { type GitHostConfig, gitApiUrl } from '../../config/git-host.ts';
import { version } from '../../version.ts';

/** What every request to the git host needs. */
export interface GitHostConnection {
  /** Origin of the host's website and logins. */
  hostUrl: string;
  /** URL of its API, without a trailing slash. */
  apiUrl: string;
  fetch: typeof fetch;
  clock: Clock;
  /** Aborts pending requests. */
  signal: AbortSignal;
}

export const userAgent = `backup-observatory/${version}`;

const REQUEST_TIMEOUT_MS = 30_000;

/** Describes the configured host. Nothing is sent yet. */
export function connectGitHost(
  config: GitHostConfig,
  deps: Pick<GitHostConnection, 'fetch' | 'clock' | 'signal'>,
): GitHostConnection {
  return { hostUrl: config.GIT_HOST_URL, apiUrl: gitApiUrl(config), ...deps };
}

const MAX_REDIRECTS = 5;
const redirects = [301, 302, 303, 307, 308];

/**
 * The connection's fetch, aborted by its signal and after 30 seconds. Follows redirects of GET requests
 * within the host, such as those for a renamed repository, but never to another host.
 */
export function fetchWithin({ fetch, signal }: GitHostConnection): typeof fetch {
  return async (input, init = {}) => {
    const signals = [
      signal,
      AbortSignal.timeout(REQUEST_TIMEOUT_MS),
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
      if (!isOwn || count === MAX_REDIRECTS || (init.method ?? 'GET') !== 'GET') {
        throw new Error('the git host redirects to another host, which is not followed');
      }
      url = next.href;
    }
  };
}
