/** Limits for reading an archive, so that a malicious one costs no more than a large one. */
export interface ArchiveLimits {
  /** Size of all bundles of an archive; larger ones are not unpacked. */
  unpackedBundleBytes: number;
  /** Bytes that a tar.gz may inflate to. */
  inflatedBytes: number;
  /** Entries of a tar.gz, or objects of an archive's bundles. */
  entries: number;
  /** Size of an extracted file. */
  extractedBytes: number;
  /** Characters of a response with a file, as JSON. */
  answerCharacters: number;
  /** Characters of the entries or refs in one response, as JSON. */
  listedCharacters: number;
  /** Time limit of one git command, in addition to what the size needs. */
  gitTimeoutMs: number;
  /** The size for which a git command gets one more millisecond. */
  gitBytesPerMs: number;
  /** Time limit of listing a tree, once the bundle is unpacked. */
  listTimeoutMs: number;
}

export const archiveLimits: ArchiveLimits = {
  unpackedBundleBytes: 16 * 2 ** 30,
  inflatedBytes: 16 * 2 ** 30,
  entries: 5_000_000,
  extractedBytes: 10 * 2 ** 20,
  answerCharacters: 40_000,
  listedCharacters: 36_000,
  gitTimeoutMs: 3 * 60_000,
  // A busy machine with two cores unpacks five times as fast.
  gitBytesPerMs: 1_000,
  listTimeoutMs: 20_000,
};
