import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';

const uploadNote = z.object({
  key: z.string(),
  upload_id: z.string(),
  sha256: z.string(),
  part_bytes: z.int().min(1),
  /** The parts that were sent, by number. */
  sent: z.record(
    z.string(),
    z.object({
      tag: z.string(),
      sha256: z.string(),
      /** Whether the store reported a hash of it that is right; unknown if an earlier release sent it. */
      is_proven: z.boolean().default(false),
    }),
  ),
});

/** A multipart upload in progress. */
export type UploadNote = z.output<typeof uploadNote>;

/** Remembers multipart uploads, so that they resume after an interruption. */
export interface UploadNotes {
  read(key: string): Promise<UploadNote | null>;
  write(note: UploadNote): Promise<void>;
  remove(key: string): Promise<void>;
}

/** Keeps notes as files in a folder. */
export function createUploadNotes(folder: string): UploadNotes {
  const pathOf = (key: string) =>
    join(folder, `${createHash('sha256').update(key).digest('hex').slice(0, 32)}.json`);
  return {
    async read(key) {
      const text = await nullIfMissing(readFile(pathOf(key), 'utf8'));
      const { data } = uploadNote.safeParse(text === null ? null : parseJson(text));
      return data?.key === key ? data : null;
    },
    async write(note) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = pathOf(note.key);
      // Not synced: if a note is lost, parts are sent again.
      const draft = `${path}.${randomUUID()}.new`;
      await writeFile(draft, JSON.stringify(note), { mode: 0o600 });
      await rename(draft, path);
    },
    remove: (key) => rm(pathOf(key), { force: true }),
  };
}
