import type { CheckOutcome, RecordedBy } from './answers.ts';
import type { ArchiveNote } from './note.ts';
import type { RecordedArchive } from './open-archive.ts';

/** What is recorded about an archive: in the database, and in the note beside it. */
export interface Recorded {
  record: RecordedArchive | null;
  note: ArchiveNote | null;
}

/** How an archive's SHA-256 compares with what is recorded. */
export interface HashVerdict {
  checksum: CheckOutcome & ('passed' | 'failed' | 'not_recorded');
  /** The recorded SHA-256; null for none. */
  expected: string | null;
  recordedBy: RecordedBy | null;
  /** What a person should know about the note; null for nothing. */
  remark: string | null;
}

/**
 * Compares an archive's SHA-256 with the recorded one. A record in the database decides, because whoever
 * can change the archive can change the note beside it. While an archive is being replaced, its note names
 * both the old and the new one, so that either passes.
 */
export function compareHash(sha256: string, { record, note }: Recorded): HashVerdict {
  const recorded = record?.archive_sha256.trim().toLowerCase() || null;
  if (recorded !== null) {
    const checksum = recorded === sha256 ? 'passed' : 'failed';
    const remark = note === null ? null : remarkOn(note, sha256, recorded);
    return { checksum, expected: recorded, recordedBy: 'database', remark };
  }
  if (note === null) {
    return { checksum: 'not_recorded', expected: null, recordedBy: null, remark: null };
  }
  const { archive_sha256, replacing } = note;
  const before = replacing?.sha256 ?? null;
  // It may still be the previous archive, about which nothing is known.
  if (replacing !== null && before === null && archive_sha256 !== sha256) {
    return { checksum: 'not_recorded', expected: null, recordedBy: null, remark: null };
  }
  const isBefore = before === sha256;
  const expected = isBefore ? sha256 : archive_sha256;
  const checksum = expected === sha256 ? 'passed' : 'failed';
  return { checksum, expected, recordedBy: 'note', remark: null };
}

/** How the note differs from the database's record. */
function remarkOn(note: ArchiveNote, sha256: string, recorded: string): string | null {
  const { archive_sha256, replacing } = note;
  if (archive_sha256 === recorded) return null;
  if (replacing !== null && replacing.sha256 === recorded) {
    if (archive_sha256 !== sha256) return null;
    return 'the note beside it says that a run put this archive in its place and has not recorded it: where that run was stopped, the next one makes and records it again';
  }
  return `the note beside it records another SHA-256 than the database, ${archive_sha256}`;
}
