import * as z from 'zod';
import { parseJson } from '../../json.ts';
import { cleanText } from '../../text/clean-text.ts';
import { MAX_REPOSITORY_LENGTH } from './archive-name.ts';

/** The last moment that a Date can be, in milliseconds since the epoch. */
const MAX_TIME_MS = 8_640_000_000_000_000;
/** How much of an address is shown. */
const MAX_SOURCE_LENGTH = 500;
/** How many versions a note may list. */
export const MAX_VERSIONS = 5_000;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** A bundle that continues an archive: it holds only what is new since the file before it. */
const increment = z.object({
  /** Its file name, in the folder of the archive. */
  name: z.string().regex(/^[^/\\]+\.\d+\.bundle$/),
  sha256,
  size_bytes: z.int().min(0),
  /** Its modification time, milliseconds since the epoch; absent in a note of an earlier release. */
  modified_ms: z.int().optional(),
  /** Its git blob id (SHA-1), for a destination. */
  blob: z.string().optional(),
});

/** A version of a repository, as its archive's note lists it. Its refs are in its manifest. */
const versionEntry = z.object({
  version: z.int().min(1),
  /** When it was made, ISO 8601 in UTC. */
  at: z.iso.datetime(),
  run_id: z.int().nullable(),
  manifest_sha256: sha256,
  /** How many files of the archive it needs: 1 is the full bundle alone, 2 the first increment too. */
  files: z.int().min(1),
  ref_count: z.int().min(0),
  /** Why older versions may not be pruned because of this one, such as a rewritten history. */
  warning: z.string().nullable().default(null),
});

/**
 * The note next to an archive, `<archive>.json`, as far as readers of the archive need it. The worker adds
 * more fields. Fields may be added; if the meaning of a field changes, so does the version.
 */
export const archiveNote = z.object({
  version: z.literal(2),
  /** Whose archive it is, `owner/name`; null in a note of an earlier release, where the manifests say it. */
  repository: z.string().max(MAX_REPOSITORY_LENGTH).nullable().default(null),
  /** Where the repository was read; null if it was not recorded. */
  address: z.string().nullable().default(null),
  /** The SHA-256, the size and the modification time (milliseconds since the epoch) of the full bundle. */
  archive_sha256: sha256,
  archive_size_bytes: z.int().optional(),
  archive_modified_ms: z.int().min(-MAX_TIME_MS).max(MAX_TIME_MS).optional(),
  /** What the repository has and the archive lacks, such as files in Git LFS; null if nothing is known. */
  incomplete: z.string().max(500).nullable().default(null),
  /** In the order in which they continue the full bundle. */
  increments: z.array(increment).max(1_000).default([]),
  /** Oldest first. None for an archive of an earlier release, which holds one version without a manifest. */
  versions: z.array(versionEntry).max(MAX_VERSIONS).default([]),
  /**
   * Set while the full bundle is being replaced. The note is written first, so the file may be either bundle.
   * `sha256` is that of the previous one, null if it was not recorded; `increments` continue the previous one.
   * The newest version exists only once the bundle is replaced.
   */
  replacing: z
    .object({
      sha256: sha256.nullable(),
      size_bytes: z.int().nullable().default(null),
      modified_ms: z.int().nullable().default(null),
      increments: z.array(increment).max(1_000).default([]),
      versions: z.array(versionEntry).max(MAX_VERSIONS).default([]),
    })
    .nullable()
    .default(null),
});

export type ArchiveNote = z.output<typeof archiveNote>;
export type Increment = z.output<typeof increment>;
export type VersionEntry = z.output<typeof versionEntry>;

/** What a note says about the full bundle that is in place. */
export interface NotedFiles {
  /** SHA-256 of the full bundle; null if it was not recorded. */
  sha256: string | null;
  increments: readonly Increment[];
  versions: readonly VersionEntry[];
  /** Whether the bundle in place is the one that was to be replaced. */
  isReplaced: boolean;
}

/** Which files and versions a note describes, given the size and modification time of the full bundle. */
export function describeFiles(
  note: ArchiveNote,
  bundle: { sizeBytes: number; modifiedMs: number },
): NotedFiles {
  const { archive_sha256, archive_size_bytes: size, increments, versions, replacing } = note;
  const isSame = (sizeBytes: number | null | undefined, modifiedMs: number | null | undefined) =>
    sizeBytes === bundle.sizeBytes && modifiedMs === Math.floor(bundle.modifiedMs);
  const isReplaced =
    replacing !== null &&
    !isSame(size, note.archive_modified_ms) &&
    // A copy of the folder has different times.
    (size !== bundle.sizeBytes || isSame(replacing.size_bytes, replacing.modified_ms));
  return isReplaced
    ? { ...replacing, isReplaced }
    : { sha256: archive_sha256, increments, versions, isReplaced };
}

/** A longer file is not a note. */
export const MAX_NOTE_BYTES = 4 * 2 ** 20;

/** The file name of an archive's note. */
export function noteName(archive: string): string {
  return `${archive}.json`;
}

/** Where the repository of a note was read, for people: without credentials. Null if the note does not say. */
export function shownSource(note: ArchiveNote | null): string | null {
  const shown = cleanText(note?.address ?? '', MAX_SOURCE_LENGTH);
  return shown === '' ? null : shown;
}

/** Null if the text is not a note. */
export function parseNote(text: string): ArchiveNote | null {
  const parsed = archiveNote.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}
