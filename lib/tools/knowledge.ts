/** One thing that search found. */
export interface KnowledgeHit {
  source_type: string;
  source_id: string;
  content: string;
  score: number;
  metadata: Record<string, unknown>;
}

/** The hybrid search over logs, results, fixes and investigations. */
export interface KnowledgeSearch {
  /** `degraded_reason` says what did not take part, or that the search was cut short; null when all is well. */
  search(
    query: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ hits: KnowledgeHit[]; degraded_reason: string | null }>;
}
