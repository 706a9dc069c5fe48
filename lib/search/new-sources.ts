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
  highest: string;
  /** The first transaction that begins after this look. */
  before: string;
}

const readWatermarks: Statement = {
  name: 'read_embedding_watermarks',
  text: `SELECT mark.generation_id, mark.source_type, mark.settled_id::text AS settled,
      mark.seen_id::text AS seen,
      pg_snapshot_xmin(visible)::text::bigint >= mark.seen_before AS is_seen_settled,
      pg_snapshot_xmax(visible)::text AS before,
      CASE mark.source_type ${searchableTypes
        .map(
          (type) =>
            `WHEN '${type}' THEN coalesce((SELECT max(id) FROM ${sourceKinds[type].table}), 0)`,
        )
        .join(' ')} END::text AS highest
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
            ON CONFLICT (generation_id, source_type, source_id) DO NOTHING
            RETURNING 1
          )
          SELECT count(*)::int AS jobs FROM enqueued`,
      },
    ];
  }),
) as Record<EmbeddedType, Statement>;

// A watermark only moves on, also when two sweeps set it at once.
const moveWatermark: Statement = {
  name: 'move_embedding_watermark',
  text: `UPDATE embedding_watermarks
    SET settled_id = greatest(settled_id, $3::bigint), seen_id = $4::bigint, seen_before = $5::bigint
    WHERE generation_id = $1::int AND source_type = $2 AND seen_id <= $4::bigint`,
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
  const [settled, seen, highest] = [mark.settled, mark.seen, mark.highest].map(BigInt) as [
    bigint,
    bigint,
    bigint,
  ];
  const nowSettled = mark.is_seen_settled ? seen : settled;
  if (highest <= settled) return 0;
  let jobs = 0;
  for (let from = settled; from < highest; from += BigInt(WINDOW)) {
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
    String(nowSettled),
    mark.highest,
    mark.before,
  ]);
  return jobs;
}
