import type { Statement } from '../../database/database.ts';
import { iso, jsonArray } from '../../records/base/page.ts';
import { FOLDER_STORAGE } from '../../records/drills/new-drill.ts';
import { standingFailures } from '../../records/drills/newest-drill.ts';
import { cutText, cutTextSql } from '../../security/redaction/cut-text.ts';
import { START_A_RUN } from './advice.ts';
import { oneIncident } from './concern.ts';
import { MAX_REPOSITORIES } from './not-good.ts';
import type { Rule } from './rule.ts';

const MAX_REASON_LENGTH = 300;

// A drill that found no archive where a run found none either belongs to the incident of lost archives. One whose repository no run has seen since, no longer counts once a discovery
// does not list the repository, or after a week if there is no discovery.
const failed: Statement = {
  name: 'alert_drill_failed',
  text: `WITH failed AS MATERIALIZED (
      SELECT failure.*, evidence @> '{"missing": true}' AS is_missing
      FROM (${standingFailures('$1::timestamptz')}) AS failure
    ), heard AS MATERIALIZED (
      SELECT key, max(at) AS at FROM (
        SELECT lower(repo_full_name) AS key, checked_at AS at FROM worker_repo_state
        UNION ALL SELECT lower(repo_full_name), created_at FROM newest_results
      ) AS source WHERE at IS NOT NULL AND EXISTS (SELECT FROM failed WHERE is_missing) GROUP BY key
    )
    SELECT ${jsonArray(`
      SELECT repository_name AS name, storage, version, ${cutTextSql('reason', MAX_REASON_LENGTH)} AS reason,
        ${iso('started_at')} AS since
      FROM failed AS drill LEFT JOIN heard USING (key)
      WHERE NOT (is_missing AND EXISTS (
          SELECT FROM worker_repo_state WHERE lower(repo_full_name) = key AND archive_missing_since IS NOT NULL
        )) AND (NOT is_missing OR heard.at > started_at
        OR EXISTS (SELECT FROM coverage WHERE lower(coverage.name) = key)
        OR NOT (
          started_at <= $1::timestamptz - interval '7 days'
          OR EXISTS (SELECT FROM coverage WHERE seen_at > started_at)
        ))
      ORDER BY drill.repository_name LIMIT ${MAX_REPOSITORIES}`)} AS items`,
};

interface FailedDrill {
  name: string;
  storage: string;
  version: number | null;
  reason: string;
  since: string;
}

/** An archive could not be restored when it was tried. */
export const drillFailed: Rule = {
  name: 'drill_failed',
  title: 'A backup could not be restored',
  severity: 'critical',
  when: 'A restore drill of a repository failed, and none has proven it since. Includes repositories that are no longer backed up, because their versions may be the only copy. Ends for a repository that the last discovery does not list and that has no archive.',
  advice: `Keep the source. See what is damaged: in a store with \`npm run worker -- store check --deep\`, in the archive folder with Verify on the page of the repository. Move the damaged files of a store away, and ${START_A_RUN}: it stores them again, and writes a damaged archive again. Then run \`npm run worker -- drill --repo OWNER/NAME\`. Where the stores are encrypted, give \`store check\` and \`drill\` the option \`--identity FILE\`.`,
  resolved: 'Each repository has been restored in a drill since, or its archive is no longer kept.',
  async find({ db, now }) {
    const [row] = await db.query<{ items: string }>(failed, [new Date(now).toISOString()]);
    const drills = JSON.parse(row?.items ?? '[]') as FailedDrill[];
    const repositories = drills.map(({ name, since, ...drill }) => ({
      ...{ name, since, reason: describe(drill) },
    }));
    return oneIncident(repositories, (count) => `The restore drill of ${count} failed`);
  },
};

/** A store's reasons often start with its name. */
function describe({ storage, version, reason }: Omit<FailedDrill, 'name' | 'since'>): string {
  const place = storage === FOLDER_STORAGE ? 'archive folder' : storage;
  const where = [
    ...(storage !== FOLDER_STORAGE && reason.includes(storage) ? [] : [place]),
    ...(version === null ? [] : [`version ${version}`]),
  ].join(', ');
  return cutText(where === '' ? reason : `${where}: ${reason}`, MAX_REASON_LENGTH);
}
