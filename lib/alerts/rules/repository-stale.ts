import { formatMinute } from '../../text/format-minute.ts';
import { oneIncident } from './concern.ts';
import type { Rule } from './rule.ts';

/** Repositories that no run has checked for too long. */
export const repositoryStale: Rule = {
  name: 'repository_stale',
  title: 'Backups are out of date',
  severity: 'warning',
  when: 'A repository is stale: it does not fail, but was last good longer ago than FRESHNESS_HOURS, or than its schedule implies.',
  advice:
    'Check whether runs still cover the repository: its source, BACKUP_ONLY and BACKUP_EXCLUDE. One that is left out on purpose can be forgotten: `npm run worker -- forget OWNER/NAME`, or on its page.',
  resolved:
    'Each repository has a fresh backup or was forgotten. If one fails instead, another message says so.',
  async find({ notGood }) {
    const stale = (await notGood()).filter(({ state }) => state === 'stale');
    const repositories = stale.map(({ name, last_good_at }) => ({
      name,
      reason: `last good ${last_good_at === null ? 'long ago' : formatMinute(last_good_at)}`,
      since: last_good_at,
    }));
    return oneIncident(repositories, (count) => `${count}: no good backup for too long`);
  },
};
