import { START_A_RUN } from './advice.ts';
import { isOfArchive } from './archive-lost.ts';
import { describeFailing, oneIncident } from './concern.ts';
import { isOfDestination } from './destination-unreachable.ts';
import { isOfLogin } from './login-expired.ts';
import type { Rule } from './rule.ts';

/** Repositories that fail repeatedly, for a reason of their own. */
export const repositoryFailing: Rule = {
  name: 'repository_failing',
  title: 'Repositories are not backed up',
  severity: 'critical',
  when: 'A repository failed ALERT_FAILING_AFTER times in a row, or once if its last good backup is already out of date, if it no longer exists at its source, or if most repositories failed in the last run and none succeeded. Repositories that fail because of the login, a destination or a lost archive are in that incident instead. The first loss that joins is told at once.',
  advice: `Read the reason for each, fix it, and ${START_A_RUN}. A repository that was removed on purpose can be forgotten: \`npm run worker -- forget OWNER/NAME\`, or on its page.`,
  resolved:
    'Each repository was backed up or forgotten, or has failed too few times for an alert. If the login or a destination is the cause now, another message says so.',
  async find({ notGood, config }) {
    const repositories = (await notGood()).filter(
      (one) =>
        (one.state === 'failing' || one.state === 'never' || one.state === 'lost') &&
        (one.failures >= config.ALERT_FAILING_AFTER ||
          one.is_stale ||
          one.is_of_failed_run ||
          one.state === 'lost') &&
        !isOfArchive(one) &&
        !isOfLogin(one) &&
        !isOfDestination(one),
    );
    return oneIncident(
      repositories.map(describeFailing),
      (count) => `${count} cannot be backed up`,
    );
  },
};
