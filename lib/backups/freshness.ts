import type { BackupsDeps } from './backups-deps.ts';

const HOUR_MS = 3_600_000;

/** A repository that was last good before this time is stale. ISO 8601. */
export function freshSince({ clock, config }: BackupsDeps): string {
  return new Date(clock.now() - config.FRESHNESS_HOURS * HOUR_MS).toISOString();
}
