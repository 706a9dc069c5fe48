/**
 * What a run does with a repository that the login sees: `taken`, it backs it up; `excluded` by a pattern; `disabled`
 * by the git host; `invalid_name`, which reaches neither a file nor git; `destination`, where archives are pushed;
 * `suspended`, an account on which the app may read nothing; `not_installed`, an account to back up that the app is not
 * installed on; `lost`, one that was seen before.
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

/** What the git host says of a repository; only what it said. */
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
  /** For a person; empty for `taken`. */
  reason: string;
  facts: CoverageFacts;
}
