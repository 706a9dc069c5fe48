import type { ConfiguredSource } from '../../config/sources.ts';
import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { cleanText } from '../../text/clean-text.ts';
import { iso, jsonArray } from '../base/page.ts';
import {
  type Judging,
  judgingValues,
  knownRepositories,
} from '../repositories/repository-states.ts';
import { listSources, type TrackedSource } from './sources.ts';

/** How many of the last runs are searched for what they could not read. */
const RUNS = 100;
const MAX_REASON_LENGTH = 1_000;

const select: Statement = {
  name: 'source_outcomes',
  text: `WITH ${knownRepositories}, named AS (
      SELECT DISTINCT ON (lower(repo_full_name)) lower(repo_full_name) AS name, named_by FROM repository_sources
      WHERE named_by IS NOT NULL ORDER BY lower(repo_full_name), seen_at DESC
    )
    SELECT ${jsonArray(`
        SELECT named_by AS key, count(*) AS repositories,
          count(*) FILTER (WHERE state IN ('failing', 'lost', 'never', 'gone')) AS failing,
          ${iso('max(last_checked_at)')} AS last_read_at
        FROM known JOIN named ON named.name = lower(known.repo_full_name) GROUP BY named_by`)} AS outcomes,
      ${jsonArray(`
        SELECT DISTINCT ON (unread.key) unread.key AS address, ${iso('started_at')} AS at, id AS run_id,
          ${cutTextSql('unread.value', MAX_REASON_LENGTH)} AS reason
        FROM (
          SELECT id, started_at, unread_sources FROM backup_runs
          WHERE isfinite(started_at) ORDER BY started_at DESC, id DESC LIMIT ${RUNS}
        ) AS run CROSS JOIN LATERAL jsonb_each_text(
          CASE WHEN jsonb_typeof(unread_sources) = 'object' THEN unread_sources ELSE '{}' END
        ) AS unread
        ORDER BY unread.key, started_at DESC, id DESC`)} AS faults`,
};

/** A source with what came of it. */
export interface SourceOutcome extends TrackedSource {
  /** How many tracked repositories it names, as far as runs have recorded. */
  repositories: number;
  /** How many of them cannot be backed up now. */
  failing: number;
  /** When a run last read one of them; null if none did. */
  lastReadAt: string | null;
  /** Why the last run that tried could not read the source itself; null if it could. */
  fault: { runId: number; at: string; reason: string } | null;
}

interface Outcome {
  key: string;
  repositories: number;
  failing: number;
  last_read_at: string | null;
}

interface Fault {
  address: string;
  run_id: number;
  at: string;
  reason: string;
}

/** All sources with what came of them. `hostUrl`: the git host of the login, as runs name it; null if unknown. */
export async function listSourceOutcomes(
  db: Database,
  configured: readonly ConfiguredSource[],
  judging: Judging,
  hostUrl: string | null,
): Promise<SourceOutcome[]> {
  const sources = await listSources(db, configured);
  type Row = { outcomes: string; faults: string };
  const [row] = await db.query<Row>(select, judgingValues(judging));
  const outcomes = JSON.parse(row?.outcomes ?? '[]') as Outcome[];
  const faults = JSON.parse(row?.faults ?? '[]') as Fault[];
  return sources.map((source): SourceOutcome => {
    const found = outcomes.find(({ key }) => key === source.key);
    const lastReadAt = found?.last_read_at ?? null;
    const address = source.kind === 'login' ? hostUrl : cleanText(source.address);
    const fault = faults.find((one) => one.address === address);
    const isOver = fault === undefined || (lastReadAt !== null && lastReadAt > fault.at);
    return {
      ...source,
      repositories: found?.repositories ?? 0,
      failing: found?.failing ?? 0,
      lastReadAt,
      fault: isOver ? null : { runId: fault.run_id, at: fault.at, reason: fault.reason },
    };
  });
}
