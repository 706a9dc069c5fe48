/** Length of a window, in milliseconds. */
export const WINDOW_MS = 60_000;

/**
 * Requests per minute: per anonymous address, per address for files of the page, per address for cross-site requests,
 * per address forwarded by a caller with the internal secret, per user, and per MCP token.
 */
export const rateLimits = {
  anonymous: 100,
  pageFile: 1_200,
  crossSite: 100,
  forwarded: 300,
  user: 600,
  mcpToken: 600,
} as const;
export type RateLimitKind = keyof typeof rateLimits;

/** The state of a count after a request. */
export interface RateCount {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** When the count starts again, in milliseconds since the epoch. */
  resetsAt: number;
}

/** Counts requests in windows of one minute. Never throws, and never fails open. */
export interface RateLimiter {
  /** `key` identifies the client: an address or a name. `limit` overrides the default of the kind. */
  count(kind: RateLimitKind, key: string, limit?: number): Promise<RateCount>;
}

/** The cache size for the latest counts; the LRU holds up to twice as many. */
export const MAX_KEPT_COUNTS = 20_000;
