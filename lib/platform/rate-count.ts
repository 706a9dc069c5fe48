/** A window, in milliseconds. */
export const WINDOW_MS = 60_000;

/** Requests a minute and address: without the secret, and forwarded with it. (spec 1, Limits) */
export const rateLimits = { anonymous: 100, forwarded: 300 } as const;
export type RateLimitKind = keyof typeof rateLimits;

/** How an address stands after a request was counted. */
export interface RateCount {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** When the count starts again, in milliseconds since the epoch. */
  resetsAt: number;
}

/** Counts requests in windows of one minute. Never throws and never lets everything pass. */
export interface RateLimiter {
  count(kind: RateLimitKind, address: string): Promise<RateCount>;
}

/** The process keeps the addresses that it saw last: at least so many, at most twice as many. */
export const KEPT_ADDRESSES = 20_000;
