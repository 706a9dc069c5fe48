import type { Database, Statement } from '../database/database.ts';
import type { GenerationStatus } from './generations.ts';

/** A generation as it is listed. Times are ISO 8601 in UTC. */
export interface ListedGeneration {
  id: number;
  model_id: string;
  status: GenerationStatus;
  dimensions: number;
  created_at: string;
  activated_at: string | null;
  failed_jobs: number;
  /** Why one of its jobs failed; null if none did. */
  failure: string | null;
}

const MAX_LISTED = 50;

const time = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

const list: Statement = {
  name: 'list_embedding_generations',
  text: `SELECT id, model_id, status, dimensions,
      ${time('created_at')} AS created_at, ${time('activated_at')} AS activated_at,
      (SELECT count(*) FROM embedding_jobs AS job
         WHERE job.generation_id = generation.id AND job.status = 'failed')::int AS failed_jobs,
      (SELECT error_message FROM embedding_jobs AS job
         WHERE job.generation_id = generation.id AND job.status = 'failed'
           AND error_message IS NOT NULL LIMIT 1) AS failure
    FROM embedding_generations AS generation ORDER BY id DESC LIMIT ${MAX_LISTED}`,
};

/** The newest generations, at most 50, newest first. */
export function listGenerations(db: Database): Promise<ListedGeneration[]> {
  return db.query<ListedGeneration>(list);
}
