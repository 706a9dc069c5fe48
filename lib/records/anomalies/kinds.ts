/**
 * What a person should look at. All but `missing` are about a version of a repository:
 *
 * - `branches_rewritten`, `branches_deleted`: the source no longer reaches what they had.
 * - `tags_rewritten`, `tags_deleted`: they point elsewhere, or are gone.
 * - `refs_gone`: more than half of all refs.
 * - `shrunk`: the commits, or the bytes of the files, fell to half or less.
 * - `default_branch`: HEAD is another branch.
 * - `emptied`: no ref is left.
 * - `noted`: what the archive's note warns of, when no more is known.
 * - `missing`: more than a fifth of all repositories, in one discovery.
 */
export const anomalyKinds = [
  'branches_rewritten',
  'branches_deleted',
  'tags_rewritten',
  'tags_deleted',
  'refs_gone',
  'shrunk',
  'default_branch',
  'emptied',
  'noted',
  'missing',
] as const;
export type AnomalyKind = (typeof anomalyKinds)[number];

/** Changes of an anomaly that are named. */
export const MAX_CHANGES = 20;

/** An anomaly, without where and when it was seen. */
export interface NewAnomaly {
  kind: AnomalyKind;
  /** How many things changed, of which the first are named. */
  changeCount: number;
  /** What was there by its name, such as a ref's object id. */
  before: Record<string, string>;
  /** The same now; what is gone has no entry. */
  after: Record<string, string>;
}
