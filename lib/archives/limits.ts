/** Bounds of reading an archive, so that a hostile one costs no more than a large one. */
export interface ArchiveLimits {
  /** Bytes of a bundle; larger ones are not unpacked. */
  unpackedBundleBytes: number;
  /** Bytes that a tar.gz may inflate to. */
  inflatedBytes: number;
  /** Entries of a tar.gz, objects of a bundle. */
  entries: number;
  /** Bytes of a file that is extracted. */
  extractedBytes: number;
  /** Characters of an answer with a file, as JSON. */
  answerCharacters: number;
  /** Characters of the entries or refs in one answer, as JSON. */
  listedCharacters: number;
  /** Milliseconds that one git command may take. */
  gitTimeoutMs: number;
  /** Milliseconds that listing a tree may take, once the bundle is unpacked. */
  listTimeoutMs: number;
}

export const archiveLimits: ArchiveLimits = {
  unpackedBundleBytes: 2 * 2 ** 30,
  inflatedBytes: 16 * 2 ** 30,
  entries: 5_000_000,
  extractedBytes: 10 * 2 ** 20,
  answerCharacters: 40_000,
  listedCharacters: 36_000,
  gitTimeoutMs: 3 * 60_000,
  listTimeoutMs: 20_000,
};
