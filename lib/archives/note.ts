import * as z from 'zod';
import { parseJson } from '../json.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * The note next to an archive, `<archive>.json`, as far as readers of the archive need it. The worker adds
 * more fields. Fields may be added; if the meaning of a field changes, so does the version.
 */
export const archiveNote = z.object({
  version: z.literal(2),
  archive_sha256: sha256,
  /**
   * Set while the archive is being replaced. The note is written first, so the file may be either archive.
   * `sha256` is that of the previous archive; null if it was not recorded.
   */
  replacing: z.object({ sha256: sha256.nullable() }).nullable().default(null),
});

export type ArchiveNote = z.output<typeof archiveNote>;

/** A longer file is not a note. */
export const MAX_NOTE_BYTES = 2 ** 20;

/** The file name of an archive's note. */
export function noteName(archive: string): string {
  return `${archive}.json`;
}

/** Null if the text is not a note. */
export function parseNote(text: string): ArchiveNote | null {
  const parsed = archiveNote.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}
