import type { Database, Statement } from '../database/database.ts';
import type { GenerationStatus } from './generations.ts';

/** The answer of /embeddings/status. */
export interface EmbeddingStatus {
  active_generation: {
    id: number;
    model_id: string;
    status: GenerationStatus;
    dimensions: number;
    chunk_count: number;
  } | null;
  /** Jobs of the generation being built, otherwise of the active one. */
  progress: { total: number; processed: number; failed: number; percentage: number };
  pending_jobs: number;
  failed_jobs: number;
}

interface Figures {
  active: string | null;
  has_generation: boolean;
  total: number;
  open: number;
  failed: number;
}

// Each count needs only an index.
const read: Statement = {
  name: 'read_embedding_status',
  text: `WITH current AS (
      SELECT id FROM embedding_generations
      WHERE id = $1::int OR $1::int IS NULL AND status IN ('BUILDING', 'ACTIVE')
      ORDER BY status = 'ACTIVE' LIMIT 1
    )
    SELECT (
        SELECT json_build_object('id', id, 'model_id', model_id, 'status', status,
          'dimensions', dimensions, 'chunk_count', (
            SELECT count(*) FROM embedding_chunks AS chunk WHERE chunk.generation_id = generation.id
          ))
        FROM embedding_generations AS generation WHERE status = 'ACTIVE'
      )::text AS active,
      EXISTS (SELECT FROM current) AS has_generation,
      (SELECT count(*) FROM embedding_jobs WHERE generation_id = (SELECT id FROM current))::int AS total,
      (SELECT count(*) FROM embedding_jobs WHERE generation_id = (SELECT id FROM current)
         AND status IN ('pending', 'processing'))::int AS open,
      (SELECT count(*) FROM embedding_jobs WHERE generation_id = (SELECT id FROM current)
         AND status = 'failed')::int AS failed`,
};

/**
 * The progress of the given generation, otherwise of the one being built, otherwise of the active one. Jobs
 * in progress count as pending; a generation without jobs is at 100 percent.
 */
export async function readEmbeddingStatus(
  db: Database,
  generationId: number | null = null,
): Promise<EmbeddingStatus> {
  const [figures] = await db.query<Figures>(read, [generationId]);
  const { active, has_generation, total, open, failed } = figures ?? nothing;
  const processed = total - open;
  const share = total === 0 ? Number(has_generation) : processed / total;
  return {
    active_generation: active === null ? null : JSON.parse(active),
    progress: { total, processed, failed, percentage: Math.floor(share * 1_000) / 10 },
    pending_jobs: open,
    failed_jobs: failed,
  };
}

const nothing: Figures = { active: null, has_generation: false, total: 0, open: 0, failed: 0 };
