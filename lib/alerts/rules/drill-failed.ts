import type { Statement } from '../../database/database.ts';
import { iso, jsonArray } from '../../records/page.ts';
import { cutTextSql } from '../../text/cut-text.ts';
import { about } from './concern.ts';
import type { ConcernedRepository, Rule } from './rule.ts';
import { MAX_REPOSITORIES } from './unwell.ts';

// The last conclusive drill decides: an incomplete one proves nothing.
const failed: Statement = {
  name: 'alert_drill_failed',
  text: `SELECT ${jsonArray(`
    SELECT repository_name AS name, ${cutTextSql("concat(storage, ', version ' || version, ': ', reason)", 300)} AS reason,
      ${iso('started_at')} AS since
    FROM restore_drills AS drill
    WHERE outcome = 'failed' AND NOT EXISTS (
      SELECT FROM restore_drills AS later
      WHERE lower(later.repository_name) = lower(drill.repository_name) AND later.outcome <> 'incomplete'
        AND (later.started_at, later.id) > (drill.started_at, drill.id)
    )
    ORDER BY drill.repository_name LIMIT ${MAX_REPOSITORIES}`)} AS items`,
};

/** An archive could not be restored when it was tried. */
export const drillFailed: Rule = {
  name: 'drill_failed',
  title: 'A backup could not be restored',
  severity: 'critical',
  when: 'The last restore drill of a repository failed.',
  advice:
    'Keep the source. See what is damaged with `npm run worker -- store check`, or verify the archive on the page of the repository. When it is repaired, run `npm run worker -- drill --repo OWNER/NAME`.',
  async find({ db }) {
    const [row] = await db.query<{ items: string }>(failed);
    const repositories = JSON.parse(row?.items ?? '[]') as ConcernedRepository[];
    return about(repositories, (count) => `The restore drill of ${count} failed`);
  },
};
