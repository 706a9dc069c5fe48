/**
 * Kinds of changes that a person should look at. All but `missing` concern a version of a repository:
 *
 * - `branches_rewritten`, `branches_deleted`: the source no longer reaches commits that the branches had.
 * - `tags_rewritten`, `tags_deleted`: tags point elsewhere, or no longer exist.
 * - `refs_gone`: more than half of all refs were deleted.
 * - `shrunk`: the number of commits, or the bytes of the files, fell to half or less.
 * - `default_branch`: HEAD is another branch.
 * - `emptied`: no refs are left.
 * - `noted`: the warning in the archive's note, when nothing more is known.
 * - `missing`: more than a fifth of all repositories were missing from one discovery.
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

/** How many changes of an anomaly are listed by name. */
export const MAX_CHANGES = 20;

/** An anomaly to record, without where and when it was seen. */
export interface NewAnomaly {
  kind: AnomalyKind;
  /** How many things changed. Only the first of them are listed by name. */
  changeCount: number;
  /** Earlier values by name, such as the object id of a ref. */
  before: Record<string, string>;
  /** Values after the change by name, without what was removed. */
  after: Record<string, string>;
}
