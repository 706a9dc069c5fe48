import * as z from 'zod';

/** How a drill ended. */
export const drillOutcomes = ['proven', 'failed', 'incomplete'] as const;
export type DrillOutcome = (typeof drillOutcomes)[number];

/** The ledger's name for the archive folder. A store is named by its address. */
export const FOLDER_STORAGE = 'folder';

const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** What a drill found. One that is not proven has only what it got to. */
export const drillEvidence = z.strictObject({
  /** The version of this software, then that of git. */
  version: z.string().max(100),
  git_version: z.string().max(100),
  /** A digest of all refs as git read them from the restored repository, and the number of refs without HEAD. */
  refs_sha256: sha256.optional(),
  refs: count.optional(),
  /** The lines of that digest, `<id> <name>`: all, or the first ones if they are too long for a row of the ledger. */
  ref_list: z.array(z.string()).optional(),
  /** What the digest was compared with: the version's record, its manifest, or the header of its bundle. */
  refs_recorded_in: z.enum(['database', 'manifest', 'bundle']).optional(),
  manifest_sha256: sha256.optional(),
  /** Whether the SHA-256 of each file of the archive was on record, and therefore compared. */
  files_recorded: z.boolean().optional(),
  files: count.optional(),
  /** Those files, if the SHA-256 of each was on record. */
  archive_files: z
    .array(z.strictObject({ name: z.string().max(1_000), sha256 }))
    .max(1_001)
    .optional(),
  /** Objects that `git fsck` read. */
  objects: count.optional(),
  /** Objects with old defects that they already had at the source. */
  defects: count.optional(),
  /** The commit of HEAD and its tree; left out if HEAD has none. */
  head: objectId.optional(),
  tree_sha: objectId.optional(),
  /** Files that were checked out, read back and compared with that tree, and their total size. */
  tree_files: count.optional(),
  tree_bytes: count.optional(),
  /** Whether the archive was missing altogether. */
  missing: z.boolean().optional(),
  /** Whether there is nothing to restore because the source was empty, and when a run found that. */
  empty: z.boolean().optional(),
  found_empty_at: z.iso.datetime({ offset: true }).optional(),
});

/** Findings that are too long for lists of drills. Their signed statements have them. */
export const longFindings = [
  'archive_files',
  'ref_list',
] as const satisfies readonly (keyof DrillEvidence)[];

export type DrillEvidence = z.output<typeof drillEvidence>;

/** A drill to add to the ledger. */
export const newDrill = z.strictObject({
  /** `owner/name`. */
  repository: z.string().min(1).max(1_000),
  /** Null for an archive of an earlier release, or if it is unknown. */
  version: z.int().min(1).nullable(),
  /** FOLDER_STORAGE, or the address of a store without parameters. */
  storage: z.string().min(1).max(2_000),
  /** ISO 8601 in UTC. Unique among the drills of a repository. */
  startedAt: z.iso.datetime(),
  durationMs: count,
  /** The total size of the files that the version needs. */
  bytes: count,
  outcome: z.enum(drillOutcomes),
  /** Why the outcome is not `proven`; null if it is. */
  reason: z.string().max(2_000).nullable(),
  evidence: drillEvidence,
});

export type NewDrill = z.output<typeof newDrill>;
