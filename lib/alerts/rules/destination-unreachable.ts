import type { Statement } from '../../database/database.ts';
import { iso, jsonArray } from '../../records/base/page.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { counted, countRepositories } from '../../text/units.ts';
import { START_A_RUN } from './advice.ts';
import { describeFailing, oneIncident } from './concern.ts';
import { inUseSince } from './in-use.ts';
import { MAX_REPOSITORIES, type NotGoodRepository } from './not-good.ts';
import type { ConcernedRepository, Finding, Rule } from './rule.ts';

const MAX_REASON_LENGTH = 300;
/** The subject for a destination that the records do not name. */
const UNNAMED = 'destination';

const failingStores: Statement = {
  name: 'alert_destination_unreachable',
  text: `SELECT ${jsonArray(`
    SELECT store, repo_full_name AS name, ${cutTextSql('reason', MAX_REASON_LENGTH)} AS reason,
      ${iso('failing_since')} AS since,
      coalesce(fault = 'unreached', false) AS "isComplete"
    FROM archive_stores AS stored
    WHERE failing_since IS NOT NULL AND unused_since IS NULL
      AND coalesce(tried_at, failing_since) > ${inUseSince('$1::timestamptz')}
    ORDER BY stored.store, stored.repo_full_name LIMIT ${MAX_REPOSITORIES}`)} AS items`,
};

type Failing = ConcernedRepository & {
  store: string;
  /** Whether the store lacked nothing, as far as is known, when it could not be reached. */
  isComplete: boolean;
};

/** Whether the last failure of a repository was caused by a store. */
export function isOfDestination({ fault }: NotGoodRepository): boolean {
  return fault === 'push' || fault === 'store';
}

/** Archives do not reach a store. */
export const destinationUnreachable: Rule = {
  name: 'destination_unreachable',
  title: 'A destination does not accept archives',
  severity: 'critical',
  when: 'A store, or the repository that archives are pushed to, did not accept an archive in the last run that tried, or could not be reached. It ends for a repository when a run stores its newest version, or finds all of it in the listing of the store. One incident per destination.',
  advice: `Mount the store, or fix its network, credentials or free space, and ${START_A_RUN}: it stores what is missing from the archive folder.`,
  resolved:
    'It has the archive of each repository that is still backed up, or no run has used it for a week.',
  async find({ db, now, notGood }) {
    const values = [new Date(now).toISOString()];
    const [row] = await db.query<{ items: string }>(failingStores, values);
    const failures = JSON.parse(row?.items ?? '[]') as Failing[];
    const findings: Finding[] = [...Map.groupBy(failures, ({ store }) => store)].flatMap(
      ([store, ofStore]) =>
        oneIncident(
          ofStore.map(({ store: _, isComplete: __, ...repository }) => repository),
          () => describe(store, ofStore),
          store,
        ),
    );
    const named = new Set(failures.map(({ name }) => name));
    const others = (await notGood()).filter((one) => isOfDestination(one) && !named.has(one.name));
    const rest = oneIncident(
      others.map(describeFailing),
      (count) => `The destination could not be used for ${count}`,
      UNNAMED,
    );
    return [...findings, ...rest];
  },
};

function describe(store: string, failures: readonly Failing[]): string {
  const unreached = failures.filter(({ isComplete }) => isComplete).length;
  const lacking = failures.length - unreached;
  if (lacking === 0) return `${store} could not be reached for ${countRepositories(unreached)}`;
  const lacks = `${store} lacks the newest archive of ${countRepositories(lacking)}`;
  if (unreached === 0) return lacks;
  return `${lacks}, and could not be reached for ${counted(unreached, 'other')}`;
}
