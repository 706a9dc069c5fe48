import type { Statement } from '../../database/database.ts';
import { newestForgotten } from '../../records/base/newest-results.ts';
import { iso, jsonArray } from '../../records/base/page.ts';
import { isKnownLoss, isPartMissing } from '../../records/recording/archive-looks.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { counted, firstOf } from '../../text/units.ts';
import { START_A_RUN } from './advice.ts';
import { describeFailing } from './concern.ts';
import { MAX_REPOSITORIES, type NotGoodRepository } from './not-good.ts';
import { type ConcernedRepository, type Rule, repositorySeverity } from './rule.ts';

const MAX_REASON_LENGTH = 300;

const missing: Statement = {
  name: 'alert_archive_lost',
  text: `WITH ${newestForgotten}
    SELECT ${jsonArray(`
      SELECT repo_full_name AS name, ${cutTextSql('archive_missing', MAX_REASON_LENGTH)} AS missing,
        ${isPartMissing} AS "isPart", ${iso('archive_missing_since')} AS since,
        (SELECT coalesce(json_agg(stored), '[]') FROM (
          SELECT store, version, failing_since IS NOT NULL AS "isFailing" FROM archive_stores
          WHERE lower(archive_stores.repo_full_name) = lower(state.repo_full_name) AND stored_at IS NOT NULL
          ORDER BY failing_since NULLS FIRST, version DESC NULLS LAST, store LIMIT 10
        ) AS stored) AS copies
      FROM worker_repo_state AS state
      WHERE archive_missing_since IS NOT NULL AND NOT ${isKnownLoss('newest')}
      ORDER BY state.repo_full_name LIMIT ${MAX_REPOSITORIES}`)} AS items,
      (SELECT count(*) FROM worker_repo_state
        WHERE archive_key LIKE '%.bundle' AND archive_missing_since IS NULL)::int AS kept`,
};

interface Missing {
  name: string;
  missing: string;
  /** Whether its other files are there. */
  isPart: boolean;
  since: string;
  copies: { store: string; version: number | null; isFailing: boolean }[];
}

/** Whether the last backup of a repository found its archive gone or damaged. */
export function isOfArchive({ fault, state }: NotGoodRepository): boolean {
  return fault === 'archive' || state === 'gone';
}

/** Archives are gone. Nothing is worse. */
export const archiveLost: Rule = {
  name: 'archive_lost',
  title: 'Archives are gone or damaged',
  severity: 'critical',
  when: 'A run did not find a file of an archive in the archive folder, whether or not it backs up the repository: each run looks for every archive that was recorded, also of lost, excluded and forgotten repositories. Or the last backup of a repository found its archive damaged, or had to start a new one. One incident, also if the whole folder is missing. It says for each repository which store still has a copy. Each one that joins is told at once.',
  advice: `Check that the disk of the archive folder is mounted and BACKUP_ARCHIVE_PATH is right. Put the files back from a copy of the folder, unless a run has made a new archive already, or restore what a store still has: \`npm run worker -- restore OWNER/NAME --from STORE --to FOLDER\`. While the source exists, keep it, and ${START_A_RUN}: it makes a new archive, and the run after it ends this incident. If nothing is left and you accept that: \`npm run worker -- forget OWNER/NAME --nothing-kept\`.`,
  resolved: 'Each archive is there again, was made again, or was forgotten.',
  async find({ db, notGood }) {
    const [row] = await db.query<{ items: string; kept: number }>(missing);
    const found = JSON.parse(row?.items ?? '[]') as Missing[];
    const named = new Set(found.map(({ name }) => name));
    const others = (await notGood()).filter((one) => isOfArchive(one) && !named.has(one.name));
    const repositories = [
      ...found.map(describe),
      ...others.map((one) => ({ ...describeFailing(one), severity: repositorySeverity.archive })),
    ];
    if (repositories.length === 0) return [];
    const nothing = found.filter(({ copies, isPart }) => copies.length === 0 && !isPart).length;
    const archives = counted(repositories.length, 'archive');
    const copies =
      nothing === 0 ? '' : `; of ${nothing === 1 ? 'one' : nothing} no store has a copy either`;
    const isWhole = row?.kept === 0 && found.length > 1;
    const summary = isWhole
      ? `None of the ${found.length} archives is in the archive folder: is its disk mounted?`
      : `${archives} ${repositories.length === 1 ? 'is' : 'are'} gone or damaged${copies}`;
    return [{ subject: '', summary, repositories }];
  },
};

function describe({ name, missing: what, isPart, since, copies }: Missing): ConcernedRepository {
  const stored = copies.map(({ store, version, isFailing }) => {
    const which = version === null ? '' : ` version ${version}`;
    return `${store} has${which}${isFailing ? ', as far as is known: it is failing' : ''}`;
  });
  const none = isPart
    ? 'its other files are kept, and no store has a copy'
    : 'nothing is kept: no store has a copy';
  const left = stored.length === 0 ? none : firstOf(stored);
  const isNothing = stored.length === 0 && !isPart;
  const severity = isNothing ? repositorySeverity.nothing : repositorySeverity.archive;
  return { name, reason: `${what}; ${left}`, since, severity };
}
