import type { Statement } from '../../database/database.ts';
import type { AnomalyKind } from '../../records/anomalies/kinds.ts';
import { iso, jsonArray } from '../../records/base/page.ts';
import { oneIncident } from './concern.ts';
import { MAX_REPOSITORIES } from './not-good.ts';
import type { Finding, Rule } from './rule.ts';

const open: Statement = {
  name: 'alert_anomaly',
  text: `SELECT ${jsonArray(`
    SELECT repo_full_name AS name, array_agg(DISTINCT kind) AS kinds, ${iso('min(seen_at)')} AS since,
      sum(change_count)::int AS changes, min(version)::int AS version
    FROM (
      SELECT * FROM anomalies AS anomaly WHERE confirmed_at IS NULL
      ORDER BY anomaly.seen_at DESC, anomaly.id DESC LIMIT ${MAX_REPOSITORIES}
    ) AS anomaly GROUP BY repo_full_name ORDER BY repo_full_name`)} AS items`,
};

interface OpenAnomalies {
  /** Null for anomalies that concern all repositories. */
  name: string | null;
  kinds: AnomalyKind[];
  since: string;
  changes: number;
  /** The first version that has a change; null if none has. */
  version: number | null;
}

const words: Record<AnomalyKind, string> = {
  branches_rewritten: 'branches were rewritten',
  branches_deleted: 'branches were deleted',
  tags_rewritten: 'tags were rewritten',
  tags_deleted: 'tags were deleted',
  refs_gone: 'more than half of the refs were deleted',
  shrunk: 'it shrank to half or less',
  default_branch: 'its default branch changed',
  emptied: 'it is empty now',
  noted: 'its archive warns of a change',
  missing: 'many repositories are missing at once',
};

/** Something changed that a person should look at. */
export const anomaly: Rule = {
  name: 'anomaly',
  title: 'Something changed at the source that you should look at',
  severity: 'warning',
  when: 'An anomaly is unconfirmed: a rewritten or deleted branch or tag, most refs deleted, another default branch, a repository that shrank or was emptied, or many that are missing at once. Opens one incident for the repositories, and one with the subject `missing`.',
  advice:
    'Look at what changed on the page of the repository. If it was intended, confirm it there or with `npm run worker -- anomalies confirm OWNER/NAME`; if not, restore the version before it: `npm run worker -- restore OWNER/NAME --version N --to FOLDER`.',
  resolved: 'Every change is confirmed.',
  async find({ db }) {
    const [row] = await db.query<{ items: string }>(open);
    const found = JSON.parse(row?.items ?? '[]') as OpenAnomalies[];
    const repositories = found.flatMap(({ name, kinds, since, version }) => {
      const what = kinds.map((kind) => words[kind] ?? kind).join(', ');
      const reason = version === null ? what : `${what} (since version ${version})`;
      return name === null ? [] : [{ name, reason, since }];
    });
    const missing: Finding[] = found
      .filter(({ name }) => name === null)
      .map(({ changes, since }) => ({
        subject: 'missing',
        summary: `${changes} repositories are missing at once: were they deleted, or has the login lost access?`,
        details: { since },
      }));
    return [
      ...oneIncident(repositories, (count) => `${count} changed in a way that needs a look`),
      ...missing,
    ];
  },
};
