import * as z from 'zod';
import { MAX_REPOSITORY_LENGTH } from '../../archives/base/archive-name.ts';
import { parseJson } from '../../json.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** A name in the archive folder: of a bundle, or of a manifest in its folder of versions. */
const fileName = z
  .string()
  .max(600)
  .regex(/^(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]+(?:\.versions\/\d{1,9}\.json)?$/u);

/**
 * What a store has of an archive after a backup: its note, and which object holds which of its files. A state and its
 * objects are the whole archive, with all versions kept at that time. A state never changes.
 */
export const storeState = z.object({
  format: z.literal(1),
  /** `owner/name`. */
  repository: z.string().max(MAX_REPOSITORY_LENGTH),
  /** The file name of the full bundle. */
  archive: fileName,
  /** When it was stored, ISO 8601 in UTC. */
  at: z.iso.datetime(),
  /** The text of the archive's note. */
  note: z.string(),
  files: z
    .array(
      z.object({
        name: fileName,
        /** The key of the file's object. */
        key: z.string().max(1_200),
        /** SHA-256 of the file. */
        sha256,
        size_bytes: z.int().min(0),
        /** The size of the stored bytes, which differs if they are encrypted. */
        stored_bytes: z.int().min(0),
      }),
    )
    .max(10_000),
});

export type StoreState = z.output<typeof storeState>;
export type StateFile = StoreState['files'][number];

/** A longer object is not a state. */
export const MAX_STATE_BYTES = 32 * 2 ** 20;

/** The text of a state. */
export function formatState(state: StoreState): string {
  return `${JSON.stringify(state, null, 1)}\n`;
}

/** Null if the text is not a state. */
export function parseState(text: string): StoreState | null {
  const parsed = storeState.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}
