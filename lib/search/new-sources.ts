import type { Database, Statement } from '../platform/database/database.ts';
import { searchableTypes } from './source-types.ts';
import { type EmbeddedType, sourceKinds } from './sources.ts';

/** Ids that one statement looks through, so that none takes long however many are new. */
const WINDOW = 200_000;
const ENQUEUE_TIMEOUT_MS = 60_000;

/** How far the ACTIVE generation has seen one kind of source, and how far there is to see. */
interface Watermark {
  generation_id: number;
  source_type: EmbeddedType;
  /** Whatever will ever have an id up to this one has its job. 64-bit integers, as text. */
  settled: string;
  /** What was seen last time becomes settled now: every transaction that was under way then has ended. */
  is_seen_settled: boolean;
  seen: string;
  /** The ids that there are now. */
  lowest: string;
  highest: string;
  /** The first transaction that begins after this look. */
  before: string;
}

/** SQL: the lowest or highest id of the records that `mark` is of, 0 when there is none. */
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
            -- Sweeps at once wait for each other's jobs: in one order, or each could wait for the other.
            ORDER BY source.id
            ON CONFLICT (generation_id, source_type, source_id) DO NOTHING
            RETURNING 1
          )
          SELECT count(*)::int AS jobs FROM enqueued`,
      },
    ];
  }),
) as Record<EmbeddedType, Statement>;

// Of two sweeps at once one sets it, and none that read it before a TRUNCATE began it again.
const moveWatermark: Statement = {
  name: 'move_embedding_watermark',
  text: `UPDATE embedding_watermarks
    SET settled_id = $5::bigint, seen_id = $6::bigint, seen_before = $7::bigint
    WHERE generation_id = $1::int AND source_type = $2
      AND settled_id = $3::bigint AND seen_id = $4::bigint`,
};

/**
 * Makes jobs of the ACTIVE generation for the records that came since it was started or since the last
 * call, and returns how many. Ids come from a sequence and transactions commit out of order: an id counts
 * as settled only when every transaction that was under way when it was first seen has ended, and until
 * then what lies above the last settled one is looked through again.
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
  // All is gone that was there, and ids may begin again: whatever comes is looked at.
  const isBehind = highest < settled;
  const nowSettled = isBehind ? 0n : mark.is_seen_settled ? BigInt(mark.seen) : settled;
  const below = BigInt(mark.lowest) - 1n;
  const start = isBehind || below > settled ? below : settled;
  let jobs = 0;
  for (let from = start; from < highest; from += BigInt(WINDOW)) {
    const to = from + BigInt(WINDOW) < highest ? from + BigInt(WINDOW) : highest;
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
