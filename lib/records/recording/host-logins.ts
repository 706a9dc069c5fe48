import type { Database, Statement } from '../../database/database.ts';

/** What a run learnt about its login to a git host. */
export interface SeenLogin {
  gitHostUrl: string;
  /** ISO 8601; null if it never expires, or if that is unknown. */
  expiresAt: string | null;
  /** Why the host refuses the login; null if it accepts it. */
  refused: string | null;
  /** The failed run whose message is that reason; null if it is none. Default: null. */
  runId?: number | null;
}

const upsert: Statement = {
  name: 'record_host_login',
  text: `INSERT INTO host_logins AS known (git_host_url, seen_at, expires_at, refused_since, reason, refused_run_id)
    VALUES ($1, $4::timestamptz, $2::timestamptz, CASE WHEN $3::text IS NOT NULL THEN $4::timestamptz END, coalesce($3, ''), $5::int)
    ON CONFLICT (git_host_url) DO UPDATE SET seen_at = excluded.seen_at, reason = excluded.reason, refused_run_id = excluded.refused_run_id,
      -- A host that refuses a token says nothing about its expiry.
      expires_at = CASE WHEN $3::text IS NULL THEN excluded.expires_at ELSE known.expires_at END,
      refused_since = CASE WHEN $3::text IS NOT NULL THEN coalesce(known.refused_since, excluded.refused_since) END`,
};

/** Records what is known about a login. `now` is in milliseconds since the epoch. */
export async function recordHostLogin(
  db: Database,
  { gitHostUrl, expiresAt, refused, runId = null }: SeenLogin,
  now: number,
): Promise<void> {
  await db.query(upsert, [gitHostUrl, expiresAt, refused, new Date(now).toISOString(), runId]);
}
