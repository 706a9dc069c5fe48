/** What is missing of an archive if it is only a later part: an increment, or the manifest of a version. */
const PART = String.raw`^\S+\.(\d+\.bundle|versions/\d+\.json) (is missing|has another size)`;

/**
 * Whether only a part of an archive is missing, so that something can be restored from the other files. `missing` is what
 * a look for the archive `key` found. A full bundle may be named like an increment: that of `owner/name.1`.
 */
export function isPartMissing(missing: string, key: string | null): boolean {
  return key !== null && new RegExp(PART).test(missing) && !missing.startsWith(`${key} `);
}

/** The same in SQL, for a row of worker_repo_state. */
export const partMissing = `(archive_missing_since IS NOT NULL AND coalesce(archive_missing, '') ~ '${PART}'
  AND coalesce(archive_key, '') <> '' AND NOT starts_with(archive_missing, archive_key || ' '))`;
