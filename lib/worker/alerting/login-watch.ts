/** What the requests of a run tell of its login. */
export interface LoginWatch {
  fetch: typeof fetch;
  /** Null if no request with a token was answered. */
  seen(): { expiresAt: string | null; isRefused: boolean } | null;
  /** Forgets it, before another run. */
  reset(): void;
}

/** GitHub's, for tokens that end: `2026-12-01 12:00:00 UTC` or with an offset. */
const EXPIRATION = 'github-authentication-token-expiration';
const expiration = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) (?:UTC|([+-]\d{2}):?(\d{2}))$/;

/** Notes what answers of the git host at `hostUrl` and `apiUrl` say of the token. No request is sent for it. */
export function watchLogin(
  fetch: typeof globalThis.fetch,
  addresses: readonly string[],
): LoginWatch {
  const origins = new Set(addresses.map((address) => new URL(address).origin));
  let seen: { expiresAt: string | null; isRefused: boolean } | null = null;
  return {
    async fetch(input, init) {
      const answer = await fetch(input, init);
      const request = input instanceof Request ? input : null;
      const headers = new Headers(init?.headers ?? request?.headers);
      const { origin } = new URL(request?.url ?? String(input));
      if (headers.has('authorization') && origins.has(origin)) {
        const expiresAt = readExpiration(answer.headers.get(EXPIRATION));
        const isRefused = answer.status === 401;
        // Of several tokens the one that ends first counts, and one that is refused.
        seen = {
          expiresAt: earlier(seen?.expiresAt ?? null, expiresAt),
          isRefused: isRefused || (seen?.isRefused ?? false),
        };
      }
      return answer;
    },
    seen: () => seen,
    reset() {
      seen = null;
    },
  };
}

function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

function readExpiration(text: string | null): string | null {
  const [, day, time, hours = '+00', minutes = '00'] = expiration.exec(text ?? '') ?? [];
  if (day === undefined || time === undefined) return null;
  const at = Date.parse(`${day}T${time}${hours}:${minutes}`);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}
