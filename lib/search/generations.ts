import type { Database, Statement } from '../database/database.ts';
import { AppError } from '../errors.ts';
import { type EmbeddedType, sourceKinds } from './embedded-sources.ts';
import { searchableTypes } from './source-types.ts';
import { dropOrphanedIndexes, indexName } from './vector-index.ts';

export type GenerationStatus = 'BUILDING' | 'READY' | 'ACTIVE' | 'RETIRED' | 'FAILED';

/** A generation with its processing state. */
export interface Generation {
  id: number;
  model_id: string;
  dimensions: number;
  status: GenerationStatus;
  /** It has unfinished jobs. */
  has_open_jobs: boolean;
  has_index: boolean;
  /** It is in the embedded database, which runs one statement at a time. */
  is_embedded: boolean;
}

/** The embedding model of a generation. */
export interface GenerationModel {
  id: string;
  dimensions: number;
}

/** Millions of jobs take a minute; a deployed function may run for five. */
const ENQUEUE_TIMEOUT_MS = 280_000;

const read: Statement = {
  name: 'read_embedding_generation',
  text: `SELECT id, model_id, dimensions, status,
      EXISTS (
        SELECT FROM embedding_jobs AS job
        WHERE job.generation_id = generation.id AND job.status IN ('pending', 'processing')
      ) AS has_open_jobs,
      to_regclass('${indexName(0).replace(/0$/, '')}' || id) IS NOT NULL AS has_index,
      position('PGlite' IN version()) > 0 AS is_embedded
    FROM embedding_generations AS generation WHERE id = $1::int`,
};

/** Reads a generation; null when there is none. */
export async function readGeneration(db: Database, id: number): Promise<Generation | null> {
  const [generation] = await db.query<Generation>(read, [id]);
  return generation ?? null;
}

/** The id of the newest generation with a status; null when there is none. */
export async function findGeneration(
  db: Database,
  status: GenerationStatus,
): Promise<number | null> {
  const [row] = await db.query<{ id: number }>(
    {
      name: 'find_embedding_generation',
      text: 'SELECT max(id) AS id FROM embedding_generations WHERE status = $1',
    },
    [status],
  );
  return row?.id ?? null;
}

/** SQL for the ids of all records of a type. */
const idsOf = (type: EmbeddedType) =>
  `SELECT '${type}' AS source_type, source.id::text AS source_id
   FROM ${sourceKinds[type].table} AS source WHERE ${sourceKinds[type].condition}`;

// See enqueue-new-sources.ts for watermarks. When no other transaction is running, no row can still appear
// below the highest id.
const start: Statement = {
  name: 'start_embedding_generation',
  text: `WITH generation AS (
      INSERT INTO embedding_generations (model_id, dimensions, status)
      VALUES ($1, $2::int, 'BUILDING') ON CONFLICT DO NOTHING RETURNING id
    ), enqueued AS (
      INSERT INTO embedding_jobs (generation_id, source_type, source_id)
      SELECT generation.id, found.source_type, found.source_id
      FROM generation, (${searchableTypes.map(idsOf).join(' UNION ALL ')}) AS found
      RETURNING 1
    ), watermarked AS (
      INSERT INTO embedding_watermarks
        (generation_id, source_type, settled_id, seen_id, seen_before)
      SELECT generation.id, highest.source_type,
        CASE WHEN pg_snapshot_xmin(now_visible) = pg_snapshot_xmax(now_visible)
          THEN highest.id ELSE 0 END,
        highest.id, pg_snapshot_xmax(now_visible)::text::bigint
      FROM generation, pg_current_snapshot() AS now_visible, (VALUES ${searchableTypes
        .map((type) => `('${type}', coalesce((SELECT max(id) FROM ${sourceKinds[type].table}), 0))`)
        .join(', ')}) AS highest (source_type, id)
    )
    SELECT id, (SELECT count(*) FROM enqueued)::int AS jobs FROM generation`,
};

/**
 * Starts a generation with a job for every existing record, in one statement, and returns its id and the
 * number of jobs. Throws CONFLICT while another generation is BUILDING.
 */
export async function startGeneration(
  db: Database,
  model: GenerationModel,
): Promise<{ id: number; jobs: number }> {
  const [started] = await db.query<{ id: number; jobs: number }>(
    start,
    [model.id, model.dimensions],
    { timeoutMs: ENQUEUE_TIMEOUT_MS },
  );
  if (started) {
    // Without fresh statistics the planner would read and sort all of the new rows for each claim.
    await db.query({ text: 'ANALYZE embedding_jobs' }, [], { timeoutMs: ENQUEUE_TIMEOUT_MS });
    return started;
  }
  throw new AppError(
    'CONFLICT',
    'a generation is already being built: finish it with /embeddings/process-batch first',
  );
}

const finish: Statement = {
  name: 'finish_embedding_generation',
  text: `UPDATE embedding_generations SET status = CASE
        WHEN EXISTS (
          SELECT FROM embedding_jobs WHERE generation_id = $1::int AND status = 'failed'
        ) AND NOT EXISTS (
          SELECT FROM embedding_jobs WHERE generation_id = $1::int AND status = 'completed'
        ) THEN 'FAILED' ELSE 'READY' END
    WHERE id = $1::int AND status = 'BUILDING' AND NOT EXISTS (
      SELECT FROM embedding_jobs
      WHERE generation_id = $1::int AND status IN ('pending', 'processing')
    )`,
};

/** Changes BUILDING to READY when all jobs are done, or to FAILED when all of them failed. */
export async function finishGeneration(db: Database, id: number): Promise<void> {
  await db.query(finish, [id]);
}

// Counting `retired` forces its update to run first, because the unique index allows one ACTIVE generation.
const activate: Statement = {
  name: 'activate_embedding_generation',
  text: `WITH target AS (
      SELECT id, status FROM embedding_generations WHERE id = $1::bigint FOR UPDATE
    ), promoted AS (
      SELECT id FROM target
      WHERE status = 'READY' OR status = 'BUILDING' AND NOT EXISTS (
          SELECT FROM embedding_jobs
          WHERE generation_id = $1::bigint AND status IN ('pending', 'processing')
        ) AND (
          NOT EXISTS (SELECT FROM embedding_jobs WHERE generation_id = $1::bigint)
          OR EXISTS (
            SELECT FROM embedding_jobs WHERE generation_id = $1::bigint AND status = 'completed'
          )
        )
    ), retired AS (
      UPDATE embedding_generations SET status = 'RETIRED'
      WHERE status = 'ACTIVE' AND EXISTS (SELECT FROM promoted) RETURNING id
    ), activated AS (
      UPDATE embedding_generations AS generation SET status = 'ACTIVE', activated_at = now()
      FROM promoted
      WHERE generation.id = promoted.id AND (SELECT count(*) FROM retired) >= 0
      RETURNING generation.id
    )
    SELECT target.status, EXISTS (SELECT FROM activated) AS is_activated,
      coalesce((SELECT json_agg(id ORDER BY id) FROM retired), '[]')::text AS retired
    FROM target`,
};

interface Activation {
  status: GenerationStatus;
  is_activated: boolean;
  /** JSON: ids. */
  retired: string;
}

/**
 * Activates a generation that is READY or whose last job is done, and returns the ids of the generations it
 * retired. Atomic: searches see either the old or the new one. Does nothing when it is already ACTIVE.
 * Throws NOT_FOUND, or CONFLICT when it is not READY.
 */
export async function activateGeneration(db: Database, id: number): Promise<number[]> {
  const [found] = await activateWithRetries(db, id);
  if (!found) throw new AppError('NOT_FOUND', `generation ${id} does not exist`);
  if (found.is_activated || found.status === 'ACTIVE') return JSON.parse(found.retired);
  throw new AppError(
    'CONFLICT',
    found.status === 'BUILDING'
      ? `generation ${id} is still BUILDING: it has unfinished jobs, or none that succeeded`
      : `generation ${id} is ${found.status}, not READY`,
  );
}

const UNIQUE_VIOLATION = '23505';

/** Retries when another generation was activated concurrently. */
async function activateWithRetries(db: Database, id: number, tries = 10): Promise<Activation[]> {
  try {
    return await db.query<Activation>(activate, [id]);
  } catch (error) {
    if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION || tries === 1) throw error;
    return activateWithRetries(db, id, tries - 1);
  }
}

// Run in this order: the first statement waits for a batch that is still storing chunks, but does not see
// them. The second statement deletes these, with the generations.
const empty: Statement = {
  name: 'empty_embedding_generations',
  text: pruning("SELECT id FROM embedding_generations WHERE status IN ('RETIRED', 'FAILED')"),
};
const prune: Statement = {
  name: 'prune_embedding_generations',
  text: pruning(
    "DELETE FROM embedding_generations WHERE status IN ('RETIRED', 'FAILED') RETURNING id",
  ),
};

/** SQL that deletes everything belonging to the doomed generations and counts it. */
function pruning(doomed: string): string {
  return `WITH doomed AS (
      ${doomed}
    ), jobs AS (
      DELETE FROM embedding_jobs WHERE generation_id IN (SELECT id FROM doomed) RETURNING 1
    ), chunks AS (
      DELETE FROM embedding_chunks WHERE generation_id IN (SELECT id FROM doomed)
    ), watermarks AS (
      DELETE FROM embedding_watermarks WHERE generation_id IN (SELECT id FROM doomed)
    )
    SELECT (SELECT count(*) FROM doomed)::int AS generations, (SELECT count(*) FROM jobs)::int AS jobs`;
}

/** Deletes the RETIRED and FAILED generations with their jobs, chunks and indexes. */
export async function pruneGenerations(
  db: Database,
): Promise<{ deleted_generations: number; deleted_jobs: number }> {
  let deleted_generations = 0;
  let deleted_jobs = 0;
  for (const statement of [empty, prune]) {
    const [gone] = await db.query<{ generations: number; jobs: number }>(statement, [], {
      timeoutMs: ENQUEUE_TIMEOUT_MS,
    });
    deleted_generations = gone?.generations ?? 0;
    deleted_jobs += gone?.jobs ?? 0;
  }
  await dropOrphanedIndexes(db);
  return { deleted_generations, deleted_jobs };
}

/**
 * Fails the generation being built, so that it can be pruned, for example when its model is no longer
 * available. Returns its id, or null.
 */
export async function abandonGeneration(db: Database): Promise<number | null> {
  const [row] = await db.query<{ id: number }>({
    name: 'abandon_embedding_generation',
    text: `UPDATE embedding_generations SET status = 'FAILED' WHERE status = 'BUILDING' RETURNING id`,
  });
  return row?.id ?? null;
}
