/**
 * What a run does with a repository that the login can see:
 *
 * - `taken`: it is backed up.
 * - `excluded`: a pattern excludes it.
 * - `disabled`: the git host has disabled it.
 * - `invalid_name`: its name is unsafe for files and for git.
 * - `destination`: archives are pushed to it.
 * - `suspended`: an account on which the app may read nothing.
 * - `not_installed`: an account to back up that the app is not installed on.
 * - `lost`: it was seen before, but not this time.
 */
export const coveragePlans = [
  'taken',
  'excluded',
  'disabled',
  'invalid_name',
  'destination',
  'suspended',
  'not_installed',
  'lost',
] as const;
export type CoveragePlan = (typeof coveragePlans)[number];

/** What the git host reported about a repository. What it did not report is absent. */
export interface CoverageFacts {
  archived?: boolean | undefined;
  has_wiki?: boolean | undefined;
  has_issues?: boolean | undefined;
  has_discussions?: boolean | undefined;
  open_issues?: number | undefined;
  /** Whether archives are pushed to a git repository. */
  pushed?: boolean | undefined;
}

/** A repository that a discovery saw. */
export interface SeenRepository {
  name: string;
  plan: CoveragePlan;
  /** An explanation for people; empty for `taken`. */
  reason: string;
  facts: CoverageFacts;
}
