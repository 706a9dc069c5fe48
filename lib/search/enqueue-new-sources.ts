import type { Database, Statement } from '../database/database.ts';
import { type EmbeddedType, sourceKinds } from './embedded-sources.ts';
import { searchableTypes } from './source-types.ts';

/** Bounds the time of one statement, however many records are new. */
const MAX_IDS_PER_STATEMENT = 200_000;
const ENQUEUE_TIMEOUT_MS = 60_000;

/** How far the ACTIVE generation has processed one kind of source. */
interface Watermark {
  generation_id: number;
  source_type: EmbeddedType;
  /** All rows up to this id have a job, and no more can appear. 64-bit integers, as text. */
  settled: string;
  /** Whether all transactions that were running when `seen` was recorded have ended. */
  is_seen_settled: boolean;
  seen: string;
  /** The current range of ids. */
  lowest: string;
  highest: string;
  /** The first transaction id that was not yet assigned at this snapshot. */
  before: string;
}

/** SQL for the lowest or highest id of the source type of `mark`; 0 when there is none. */
function idOfSources(which: 'min' | 'max'): string {
  const cases = searchableTypes.map(
    (type) => `WHEN '${type}' THEN (SELECT ${which}(id) FROM ${sourceKinds[type].table})`,
  );
  return `coalesce(CASE mark.source_type ${cases.join(' ')} END, 0)::text`;
}

const readWatermarks: Statement = {
  name: 'read_embedding_watermarks',
  text: `SELECT mark.generation_id, mark.source_type, mark.settled_id::text AS settled,
      mark.seen_id::text AS seen,
      pg_snapshot_xmin(visible)::text::bigint >= mark.seen_before AS is_seen_settled,
      pg_snapshot_xmax(visible)::text AS before,
      ${idOfSources('min')} AS lowest, ${idOfSources('max')} AS highest
    FROM embedding_watermarks AS mark
    JOIN embedding_generations AS generation
      ON generation.id = mark.generation_id AND generation.status = 'ACTIVE',
    pg_current_snapshot() AS visible`,
};

const enqueueStatements = Object.fromEntries(
  searchableTypes.map((type): [EmbeddedType, Statement] => {
    const { table, condition } = sourceKinds[type];
    return [
      type,
      {
        name: `enqueue_new_${type}`,
        text: `WITH enqueued AS (
            INSERT INTO embedding_jobs (generation_id, source_type, source_id)
            SELECT generation.id, '${type}', source.id::text
            FROM embedding_generations AS generation, ${table} AS source
            WHERE generation.id = $1::int AND generation.status = 'ACTIVE'
              AND source.id > $2::bigint AND source.id <= $3::bigint AND ${condition}
              AND NOT EXISTS (
                SELECT FROM embedding_jobs AS job
                WHERE job.generation_id = $1::int AND job.source_type = '${type}'
                  AND job.source_id = source.id::text
              )
            -- One order for all, so that concurrent sweeps cannot deadlock.
            ORDER BY source.id
            ON CONFLICT (generation_id, source_type, source_id) DO NOTHING
            RETURNING 1
          )
          SELECT count(*)::int AS jobs FROM enqueued`,
      },
    ];
  }),
) as Record<EmbeddedType, Statement>;

// Compare and set: of two concurrent sweeps only one succeeds, and none that read the mark before a TRUNCATE.
const moveWatermark: Statement = {
  name: 'move_embedding_watermark',
  text: `UPDATE embedding_watermarks
    SET settled_id = $5::bigint, seen_id = $6::bigint, seen_before = $7::bigint
    WHERE generation_id = $1::int AND source_type = $2
      AND settled_id = $3::bigint AND seen_id = $4::bigint`,
};

/**
 * Creates jobs in the ACTIVE generation for records added since the last call, and returns how many.
 * Transactions may commit in another order than their ids, so an id is settled only when all transactions that
 * were running when it was first seen have ended. Until then, ids above the last settled one are scanned again.
 */
export async function enqueueNewSources(db: Database): Promise<number> {
  let jobs = 0;
  for (const mark of await db.query<Watermark>(readWatermarks)) {
    jobs += await enqueueSince(db, mark);
  }
  return jobs;
}

async function enqueueSince(db: Database, mark: Watermark): Promise<number> {
  const settled = BigInt(mark.settled);
  const highest = BigInt(mark.highest);
  if (highest === settled) return 0;
  // After a TRUNCATE ids may restart, so scan everything.
  const isBehind = highest < settled;
  const nowSettled = isBehind ? 0n : mark.is_seen_settled ? BigInt(mark.seen) : settled;
  const below = BigInt(mark.lowest) - 1n;
  const start = isBehind || below > settled ? below : settled;
  let jobs = 0;
  for (let from = start; from < highest; from += BigInt(MAX_IDS_PER_STATEMENT)) {
    const to =
      from + BigInt(MAX_IDS_PER_STATEMENT) < highest
        ? from + BigInt(MAX_IDS_PER_STATEMENT)
        : highest;
    const [enqueued] = await db.query<{ jobs: number }>(
      enqueueStatements[mark.source_type],
      [mark.generation_id, String(from), String(to)],
      { timeoutMs: ENQUEUE_TIMEOUT_MS },
    );
    jobs += enqueued?.jobs ?? 0;
  }
  await db.query(moveWatermark, [
    mark.generation_id,
    mark.source_type,
    mark.settled,
    mark.seen,
    String(nowSettled),
    mark.highest,
    mark.before,
  ]);
  return jobs;
}
