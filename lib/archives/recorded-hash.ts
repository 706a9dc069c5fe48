import type { RecordedArchive } from './base/archive-owner.ts';
import type { ArchiveNote } from './base/note.ts';
import type { CheckOutcome, RecordedBy } from './base/results.ts';

/** What is recorded about an archive, in the database and in its note. */
export interface Recorded {
  record: RecordedArchive | null;
  note: ArchiveNote | null;
}

/** How an archive's SHA-256 compares with what is recorded. */
interface HashVerdict {
  checksum: CheckOutcome & ('passed' | 'failed' | 'not_recorded');
  /** The recorded SHA-256, if any. */
  expected: string | null;
  recordedBy: RecordedBy | null;
  /** A discrepancy in the note, if any. */
  remark: string | null;
}

/**
 * Compares an archive's SHA-256 with the recorded one. The database takes precedence, because anyone who can
 * change the archive can change its note. While an archive is being replaced, its note describes both the old
 * and the new one, and either passes.
 */
export function compareHash(sha256: string, { record, note }: Recorded): HashVerdict {
  const recorded = readDatabaseHash(record);
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
  // It may still be the previous archive, whose hash is unknown.
  if (replacing !== null && before === null && archive_sha256 !== sha256) {
    return { checksum: 'not_recorded', expected: null, recordedBy: null, remark: null };
  }
  const isBefore = before === sha256;
  const expected = isBefore ? sha256 : archive_sha256;
  const checksum = expected === sha256 ? 'passed' : 'failed';
  return { checksum, expected, recordedBy: 'note', remark: null };
}

/**
 * The recorded SHA-256 of an archive; null if none is recorded, or if the note leaves open which archive is in place.
 */
export function readRecordedHash({
  record,
  note,
}: Recorded): Pick<HashVerdict, 'expected' | 'recordedBy'> {
  const recorded = readDatabaseHash(record);
  if (recorded !== null) return { expected: recorded, recordedBy: 'database' };
  if (note === null || note.replacing !== null) return { expected: null, recordedBy: null };
  return { expected: note.archive_sha256, recordedBy: 'note' };
}

function readDatabaseHash(record: RecordedArchive | null): string | null {
  return record?.archive_sha256.trim().toLowerCase() || null;
}

/** How the note differs from the database's record. */
function remarkOn(note: ArchiveNote, sha256: string, recorded: string): string | null {
  const { archive_sha256, replacing } = note;
  if (archive_sha256 === recorded) return null;
  if (replacing !== null && replacing.sha256 === recorded) {
    if (archive_sha256 !== sha256) return null;
    return 'according to its note, a run has replaced this archive but not recorded it yet: if that run was stopped, the next one writes and records it again';
  }
  return `its note records a different SHA-256 than the database, ${archive_sha256}`;
}
