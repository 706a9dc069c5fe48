import type { NoteRenewable } from '../../logins/token-source.ts';

/** What a run's requests reveal about its login. */
export interface LoginWatch {
  fetch: typeof fetch;
  /** Ignores when this token itself ends: the login lasts until it can no longer be renewed. */
  noteRenewable: NoteRenewable;
  /** Null if no request with a token was answered. */
  seen(): { expiresAt: string | null; isRefused: boolean } | null;
  /** Discards what was seen, before the next run. */
  reset(): void;
}

/** GitHub's header for tokens that expire: `2026-12-01 12:00:00 UTC` or with an offset. */
const EXPIRATION = 'github-authentication-token-expiration';
const expirationPattern = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) (?:UTC|([+-]\d{2}):?(\d{2}))$/;

/** Notes what the git host's responses at these addresses say about the token. Sends no requests of its own. */
export function watchLogin(
  fetch: typeof globalThis.fetch,
  addresses: readonly string[],
): LoginWatch {
  const origins = new Set(addresses.map((address) => new URL(address).origin));
  let seen: { expiresAt: string | null; isRefused: boolean } | null = null;
  const renewable = new Set<string>();
  // A renewal may also move the end of the login.
  const ends = new Map<string, string>();
  return {
    noteRenewable(name, token, until) {
      renewable.add(token);
      ends.set(name, until);
    },
    async fetch(input, init) {
      const answer = await fetch(input, init);
      const request = input instanceof Request ? input : null;
      const headers = new Headers(init?.headers ?? request?.headers);
      const { origin } = new URL(request?.url ?? String(input));
      const token = /\S+$/.exec(headers.get('authorization') ?? '')?.[0];
      if (token !== undefined && origins.has(origin)) {
        const expiration = renewable.has(token) ? null : answer.headers.get(EXPIRATION);
        const expiresAt = readExpiration(expiration);
        const isRefused = answer.status === 401;
        // With several tokens, the earliest expiry and any refusal count.
        seen = {
          expiresAt: earlier(seen?.expiresAt ?? null, expiresAt),
          isRefused: isRefused || (seen?.isRefused ?? false),
        };
      }
      return answer;
    },
    seen: () => seen && { ...seen, expiresAt: [...ends.values()].reduce(earlier, seen.expiresAt) },
    reset() {
      seen = null;
      renewable.clear();
      ends.clear();
    },
  };
}

function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

function readExpiration(text: string | null): string | null {
  const [, day, time, hours = '+00', minutes = '00'] = expirationPattern.exec(text ?? '') ?? [];
  if (day === undefined || time === undefined) return null;
  const at = Date.parse(`${day}T${time}${hours}:${minutes}`);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}
