import * as z from 'zod';

/** How a drill ended. */
export const drillOutcomes = ['proven', 'failed', 'incomplete'] as const;
export type DrillOutcome = (typeof drillOutcomes)[number];

/** What the ledger calls the archive folder. A store has its address instead. */
export const FOLDER_STORAGE = 'folder';

const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** What a drill found. Of one that is not proven, what it got to. */
export const drillEvidence = z.strictObject({
  /** Of this software, and of git. */
  version: z.string().max(100),
  git_version: z.string().max(100),
  /** A digest of all refs as git read them from the restored repository, and their number without HEAD. */
  refs_sha256: sha256.optional(),
  refs: count.optional(),
  /** What the digest was compared with: the record of the version, its manifest, or the header of its bundle. */
  refs_recorded_in: z.enum(['database', 'manifest', 'bundle']).optional(),
  manifest_sha256: sha256.optional(),
  /** Whether the SHA-256 of each file of the archive was recorded, and so compared. */
  files_recorded: z.boolean().optional(),
  files: count.optional(),
  /** Objects that `git fsck` has read. */
  objects: count.optional(),
  /** Objects with old defects, which were at the source already. */
  defects: count.optional(),
  /** The commit of HEAD and its tree; left out if HEAD has none. */
  head: objectId.optional(),
  tree_sha: objectId.optional(),
  /** Files that were checked out, read back and compared with that tree, and their size. */
  tree_files: count.optional(),
  tree_bytes: count.optional(),
  /** Whether the archive was not there at all. */
  missing: z.boolean().optional(),
});

export type DrillEvidence = z.output<typeof drillEvidence>;

/** A drill for the ledger. */
export const newDrill = z.strictObject({
  /** `owner/name`. */
  repository: z.string().min(1).max(1_000),
  /** Null for an archive of an earlier release, and if unknown. */
  version: z.int().min(1).nullable(),
  /** FOLDER_STORAGE, or the address of a store without parameters. */
  storage: z.string().min(1).max(2_000),
  /** ISO 8601 in UTC. No two drills of a repository have the same. */
  startedAt: z.iso.datetime(),
  durationMs: count,
  /** Of the files that the version needs. */
  bytes: count,
  outcome: z.enum(drillOutcomes),
  /** Why it is not proven; else null. */
  reason: z.string().max(2_000).nullable(),
  evidence: drillEvidence,
});

export type NewDrill = z.output<typeof newDrill>;
