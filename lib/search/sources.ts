import { searchableTypes } from './source-types.ts';

/** What is embedded: whatever a search over HTTP finds (spec 2, Search result). */
export type EmbeddedType = (typeof searchableTypes)[number];

/** Of a longer text the beginning is embedded. Characters. */
const LONGEST_SOURCE = 65_536;

/** How the records of one type are found and read. In SQL `source` is the row. */
interface SourceKind {
  table: string;
  /** Which rows of the table are such records. */
  condition: string;
  /**
   * The text that a search shows, what it is about (embedded in front of each chunk, not shown), and the
   * metadata of the search result.
   */
  content: string;
  heading: string;
  metadata: string;
}

/** Where the records of each type are. An investigation is an answer of the chat with its question. */
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
    // The question was stored shortly before its answer: a bounded look back along the primary key.
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

/** A record to be embedded, as `sourceOfJob` reads it. All is null when the record is gone. */
export interface SourceRow {
  heading: string | null;
  content: string | null;
  /** JSON. */
  metadata: string | null;
  created_at: string | null;
}

/** SQL: the record that the row `job` (source_type, source_id) is for; no row when it is gone. */
export const sourceOfJob = searchableTypes
  .map((type) => {
    const { table, condition, content, heading, metadata } = sourceKinds[type];
    return `SELECT left(${heading}, 1000) AS heading, left(${content}, ${LONGEST_SOURCE}) AS content,
        (${metadata})::text AS metadata, coalesce(source.created_at, now())::text AS created_at
      FROM ${table} AS source
      WHERE job.source_type = '${type}' AND source.id = job.source_id::bigint AND ${condition}`;
  })
  .join('\nUNION ALL\n');
