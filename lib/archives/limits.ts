/** Bounds of what is read of an archive, so that a hostile one costs no more than a large one. */
export interface ArchiveLimits {
  /** Bytes of a bundle; a larger one is not unpacked (spec 3, Limits). */
  unpackedBundleBytes: number;
  /** Bytes that a tar.gz may inflate to (decisions 6). */
  inflatedBytes: number;
  /** Entries of a tar.gz, objects of a bundle (decisions 6). */
  entries: number;
  /** Bytes of a file that is extracted (spec 3, Limits; decisions 6). */
  extractedBytes: number;
  /** Characters of the paths or names in one answer. */
  listedCharacters: number;
  /** Milliseconds that one git command may take (spec 3, Limits). */
  gitTimeoutMs: number;
}

export const archiveLimits: ArchiveLimits = {
  unpackedBundleBytes: 2 * 2 ** 30,
  inflatedBytes: 16 * 2 ** 30,
  entries: 5_000_000,
  extractedBytes: 10 * 2 ** 20,
  listedCharacters: 2 ** 20,
  gitTimeoutMs: 3 * 60_000,
};
