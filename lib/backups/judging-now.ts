import type { Judging } from '../records/repositories/repository-states.ts';
import type { BackupsDeps } from './backups-deps.ts';

/** What the freshness of repositories is judged by now. */
export function judgingNow({ clock, config }: Pick<BackupsDeps, 'clock' | 'config'>): Judging {
  return {
    now: new Date(clock.now()).toISOString(),
    freshnessHours: config.FRESHNESS_HOURS,
    scheduleMs: config.BACKUP_EVERY ?? null,
  };
}
