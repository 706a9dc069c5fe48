/** Candidates per list. Lower ranks add next to nothing to a fused score. */
export const MAX_CANDIDATES = 100;

/** SQL for the source types, the fourth parameter of the search statement (hybrid-query.ts). */
export const sourceTypesParameter = `$4::text[]`;
