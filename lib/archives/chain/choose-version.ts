import { AppError } from '../../errors.ts';
import type { VersionEntry } from '../base/note.ts';
import type { OpenArchive } from '../base/open-archive.ts';

/** Selects a version. */
export type VersionChoice =
  | 'newest'
  /** The version with this number. */
  | { version: number }
  /** The newest version made at or before this time, in milliseconds since the epoch. */
  | { before: number };

/**
 * Finds a version in an archive's note; null for the only version of an archive from an earlier release. Throws
 * NOT_FOUND if there is none.
 */
export function chooseVersion(
  { name, noted, modifiedAt }: OpenArchive,
  choice: VersionChoice,
): VersionEntry | null {
  const versions = noted?.versions ?? [];
  const oldest = versions.at(0);
  if (oldest === undefined) {
    const made = new Date(modifiedAt).toISOString();
    if (choice === 'newest' || ('before' in choice && choice.before >= modifiedAt)) return null;
    throw notFound(`${name} is from an earlier release and holds one version, of ${made}`);
  }
  const found = versions.findLast(({ version, at }) => {
    if (choice === 'newest') return true;
    return 'version' in choice ? version === choice.version : Date.parse(at) <= choice.before;
  });
  if (found !== undefined) return found;
  const newest = versions.at(-1) ?? oldest;
  throw notFound(
    choice !== 'newest' && 'version' in choice
      ? `${name} has no version ${choice.version}: it has ${versions.length}, from ${oldest.version} to ${newest.version}`
      : `${name} has no version that old: its oldest is of ${oldest.at}`,
  );
}

function notFound(message: string): AppError {
  return new AppError('NOT_FOUND', message);
}
