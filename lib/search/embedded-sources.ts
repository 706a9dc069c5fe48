import { searchableTypes } from './source-types.ts';

/** The source types that are embedded: those of POST /search. */
export type EmbeddedType = (typeof searchableTypes)[number];

/** Only this many characters of a text are embedded. */
const MAX_SOURCE_LENGTH = 65_536;

/** How to select the records of one type. In SQL, `source` is the row. */
interface SourceKind {
  table: string;
  /** Selects the rows of the table that are of this type. */
  condition: string;
  /**
   * The text shown in results, its heading (embedded in front of each chunk, but not shown), and the
   * metadata of the result.
   */
  content: string;
  heading: string;
  metadata: string;
}

/** The tables of each type. An investigation is a chat answer with its question. */
export const sourceKinds: Record<EmbeddedType, SourceKind> = {
  execution_log: {
    table: 'execution_logs',
    condition: 'true',
    content: "coalesce(source.message, '')",
    heading: "concat_ws(' ', source.repository, source.level)",
    metadata: `jsonb_build_object(
      'repository', source.repository, 'level', source.level, 'run_id', source.run_id)`,
  },
  backup_result: {
    table: 'backup_results',
    condition: 'true',
    content: `concat_ws(': ',
      concat_ws(' ', source.repo_full_name, source.status, nullif(source.commit_hash, '')),
      nullif(source.error_message, ''))`,
    heading: "''",
    metadata: `jsonb_build_object(
      'repository', source.repo_full_name, 'status', source.status, 'run_id', source.run_id,
      'commit_hash', source.commit_hash)`,
  },
  investigation: {
    table: 'chat_messages',
    condition: "source.role = 'assistant' AND source.status = 'completed' AND source.content <> ''",
    // The question has a slightly lower id than its answer, so a bounded range of ids suffices.
    content: `concat_ws(E'\\n\\n', (
        SELECT question.content FROM chat_messages AS question
        WHERE question.id BETWEEN source.id - 10000 AND source.id - 1 AND question.role = 'user'
          AND question.request_id = source.request_id AND question.username = source.username
        ORDER BY question.id DESC LIMIT 1
      ), source.content)`,
    heading: "''",
    metadata: `jsonb_build_object(
      'session_id', source.session_id, 'username', source.username,
      'request_id', source.request_id)`,
  },
};

/** A record to embed, as read by `sourceOfJob`. All fields are null when the record no longer exists. */
export interface SourceRow {
  heading: string | null;
  content: string | null;
  /** JSON. */
  metadata: string | null;
  created_at: string | null;
}

/** SQL for the record of the row `job` (source_type, source_id); no row when it no longer exists. */
export const sourceOfJob = searchableTypes
  .map((type) => {
    const { table, condition, content, heading, metadata } = sourceKinds[type];
    return `SELECT left(${heading}, 1000) AS heading, left(${content}, ${MAX_SOURCE_LENGTH}) AS content,
        (${metadata})::text AS metadata, coalesce(source.created_at, now())::text AS created_at
      FROM ${table} AS source
      WHERE job.source_type = '${type}' AND source.id = job.source_id::bigint AND ${condition}`;
  })
  .join('\nUNION ALL\n');
