/** What is missing of an archive if it is only a later part: an increment, or the manifest of a version. */
const PART = String.raw`^\S+\.(\d+\.bundle|versions/\d+\.json) (is missing|has another size)`;

/**
 * Whether only a part of an archive is missing, so that something can be restored from the other files. `missing` is what a
 * look for the archive found.
 */
export function isPartMissing(missing: string): boolean {
  return new RegExp(PART).test(missing);
}

/** The same in SQL, for a column. */
export const partMissing = (column: string) => `(coalesce(${column}, '') ~ '${PART}')`;
