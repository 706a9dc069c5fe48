import * as z from 'zod';
import { parseJson } from '../json.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * The part of the note beside an archive, `<archive>.json`, that readers of the archive need. The worker
 * adds more fields. Fields may be added; if a field changes its meaning, the version changes.
 */
export const archiveNote = z.object({
  version: z.literal(2),
  archive_sha256: sha256,
  /**
   * Set while the archive is being replaced: the note is written first, so either archive may be in
   * place. `sha256` is that of the previous archive; null if it was not recorded.
   */
  replacing: z.object({ sha256: sha256.nullable() }).nullable().default(null),
});

export type ArchiveNote = z.output<typeof archiveNote>;

/** A longer file is not a note. */
export const MAX_NOTE_BYTES = 2 ** 20;

/** The file name of the note beside an archive. */
export function noteName(archive: string): string {
  return `${archive}.json`;
}

/** Null for a text that is not a note. */
export function parseNote(text: string): ArchiveNote | null {
  const parsed = archiveNote.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}
