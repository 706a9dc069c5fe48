export type ArchiveFormat = 'bundle' | 'tar.gz';

/** Which candidate named the archive (spec 3, Archive resolution). */
export type ResolvedBy =
  | 'worker_repo_state'
  | 'canonical_name'
  | 'legacy_name'
  | 'legacy_name_any_case';

/**
 * How a check ended. `not_recorded`: there is no SHA-256 to compare with; `not_applicable`: the format
 * has no such thing; `not_checked`: something before it failed.
 */
export type CheckOutcome = 'passed' | 'failed' | 'not_recorded' | 'not_applicable' | 'not_checked';

/** What was proved of an archive, check by check (decisions 6, verify_archive_integrity). */
export interface Proof {
  /** The file's SHA-256 is the recorded one. */
  checksum: CheckOutcome;
  /** The bundle's header, or every header of the tar.gz, can be read. */
  header: CheckOutcome;
  /** The pack's own checksum, at its end, is that of its bytes. */
  pack_checksum: CheckOutcome;
  /** Every object of the pack can be read. */
  objects: CheckOutcome;
  /** Everything that a ref or an object names is in the pack. */
  history: CheckOutcome;
}

/** A ref of a bundle with the commit it leads to, through annotated tags. */
export interface ArchivedRef {
  name: string;
  commit: string;
}

/** The answer of verify_archive_integrity (spec 3, Tool behaviour 6). */
export interface Verification {
  /** The name that was asked for. */
  repository: string;
  /** File name, below the archive folder. */
  archive: string;
  format: ArchiveFormat;
  resolved_by: ResolvedBy;
  archive_size_bytes: number;
  sha256_checksum: string;
  /** Null when none is recorded. */
  expected_sha256: string | null;
  /** In the bundle's order, at most 1,000; none for a tar.gz. */
  refs: ArchivedRef[];
  /** Only when the refs were cut. */
  truncated?: true;
  /** Did git unpack the pack and check all its objects? False for a tar.gz. */
  pack_verified: boolean;
  integrity_status: 'VALID_UNCOMPROMISED';
  proof: Proof;
}

export type EntryType =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'link'
  | 'submodule'
  | 'character-device'
  | 'block-device'
  | 'fifo'
  | 'unknown';

/** One entry of an archive, its path as the archive has it: it may be absolute or climb. */
export interface ArchiveEntry {
  path: string;
  /** Bytes of content; 0 for what has none. */
  size: number;
  /** Octal: git's `100644`, tar's permissions `0644`. */
  mode: string;
  type: EntryType;
}

/** The answer of inspect_archive_contents (decisions 6). */
export interface Listing {
  repository: string;
  archive: string;
  format: ArchiveFormat;
  entries: ArchiveEntry[];
  returned: number;
  /** Are there more entries under the prefix? */
  truncated: boolean;
}

/** The answer of extract_backup_file (decisions 6). */
export interface ExtractedFile {
  repository: string;
  archive: string;
  path: string;
  /** Bytes. */
  size: number;
  /** utf-8 only when the content is exactly that text's bytes. */
  encoding: 'utf-8' | 'base64';
  content: string;
}
