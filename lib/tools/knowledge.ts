/** One thing that search found. */
export interface KnowledgeHit {
  source_type: string;
  source_id: string;
  content: string;
  score: number;
  metadata: Record<string, unknown>;
}

/** The hybrid search over logs, results, fixes and investigations (spec 3, Tool behaviour 5). */
export interface KnowledgeSearch {
  /** `degraded_reason` says why vectors did not take part; null when they did. */
  search(
    query: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ hits: KnowledgeHit[]; degraded_reason: string | null }>;
}
