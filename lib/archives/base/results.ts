export type ArchiveFormat = 'bundle' | 'tar.gz';

/** Which candidate name was found. */
export type ResolvedBy =
  | 'worker_repo_state'
  | 'canonical_name'
  | 'legacy_name'
  | 'legacy_name_any_case';

/** Where the expected SHA-256 was recorded. The note is the file next to the archive. */
export type RecordedBy = 'database' | 'note';

/**
 * The outcome of a check. `not_recorded`: there is no SHA-256 to compare with. `not_applicable`: the format
 * has nothing to check. `not_checked`: an earlier check failed.
 */
export type CheckOutcome = 'passed' | 'failed' | 'not_recorded' | 'not_applicable' | 'not_checked';

/** The outcome of each check of an archive. */
export interface Proof {
  /** The SHA-256 of every file is the recorded one. */
  checksum: CheckOutcome;
  /** The bundle's header, or every header of the tar.gz, is readable. */
  header: CheckOutcome;
  /** The checksum at the end of the pack matches its bytes. */
  pack_checksum: CheckOutcome;
  /** Every object of the pack is readable. */
  objects: CheckOutcome;
  /** Everything that refs and objects refer to is in the pack. */
  history: CheckOutcome;
}

/** A ref of a bundle with the commit it leads to, through annotated tags. */
export interface ArchivedRef {
  name: string;
  commit: string;
}

/** The result of verify_archive_integrity. */
export interface Verification {
  /** The requested name. */
  repository: string;
  /** File name in the archive folder. */
  archive: string;
  format: ArchiveFormat;
  resolved_by: ResolvedBy;
  archive_size_bytes: number;
  sha256_checksum: string;
  /** Null if none is recorded. */
  expected_sha256: string | null;
  expected_by: RecordedBy | null;
  /** How many files it has: more than one if increments continue it. All were checked. */
  files: number;
  /** In the order of the newest bundle, at most 100; none for a tar.gz. */
  refs: ArchivedRef[];
  ref_count: number;
  /** Only if refs were left out. */
  truncated?: true;
  /** Whether git unpacked the pack and checked all its objects. False for a tar.gz. */
  pack_verified: boolean;
  /** VALID_UNRECORDED: intact, but there is no SHA-256 to compare with. */
  integrity_status: 'VALID_UNCOMPROMISED' | 'VALID_UNRECORDED';
  proof: Proof;
  /** Only if the note differs from the database's record. */
  remark?: string;
  /** Only if the repository has something that the archive lacks, such as files in Git LFS. */
  incomplete?: string;
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

/** One entry of an archive. The path is unchanged: it may be absolute or contain `..`. */
export interface ArchiveEntry {
  path: string;
  /** Bytes of content; 0 for entries without. */
  size: number;
  /** Octal: git's `100644`, tar's permissions `0644`. */
  mode: string;
  type: EntryType;
}

/** The result of inspect_archive_contents. */
export interface Listing {
  repository: string;
  archive: string;
  format: ArchiveFormat;
  entries: ArchiveEntry[];
  returned: number;
  /** Whether there are more entries under the prefix. */
  truncated: boolean;
}

/**
 * The result of extract_backup_file. Ranges refer to the file as shown, without secrets. `content` comes
 * last, because clients truncate responses at the end.
 */
export interface ExtractedFile {
  repository: string;
  archive: string;
  path: string;
  /** Only if secrets were removed: how many, and a notice that the content differs from the file. */
  redacted?: number;
  notice?: string;
  /** Bytes of the file in the archive. */
  size: number;
  /** utf-8 only if the bytes are exactly that text. */
  encoding: 'utf-8' | 'base64';
  /** The bytes in `content`, and the total. */
  bytes: { offset: number; length: number; total: number };
  /** The first and last line in `content`, and the total; null if it is not text. */
  lines: { start: number; end: number; total: number } | null;
  /** Whether more was requested than fits a response. */
  truncated: boolean;
  /** Only if truncated: what is missing, and how to get it. */
  more?: string;
  content: string;
}
