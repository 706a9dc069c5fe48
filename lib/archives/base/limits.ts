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
  /** Files of a folder that is sent as a zip, and the sum of their sizes. */
  zippedFiles: number;
  zippedBytes: number;
  /** Time limit of sending a zip, and how long its client may pause. */
  zipTimeoutMs: number;
  zipPauseMs: number;
  /** Size of each of two files that are compared line by line, and of the difference that is shown. */
  comparedBytes: number;
  differenceBytes: number;
  /** Time limit of listing a tree, or of comparing two, once the bundle is unpacked. */
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
  zippedFiles: 100_000,
  zippedBytes: 4 * 2 ** 30,
  zipTimeoutMs: 60 * 60_000,
  zipPauseMs: 2 * 60_000,
  comparedBytes: 2 * 2 ** 20,
  differenceBytes: 256 * 2 ** 10,
  listTimeoutMs: 20_000,
};
