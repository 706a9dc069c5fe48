import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { replaceFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';

const stateFile = z.object({
  name: z.string(),
  key: z.string(),
  sha256: z.string(),
  size_bytes: z.int(),
  stored_bytes: z.int(),
});

const entry = z
  .object({
    format: z.literal(1),
    /** The file name of the full bundle. */
    archive: z.string(),
    /** The name of the archive in the store's keys. */
    archive_name: z.string(),
    /** The last state that was stored, with its size; null if none was, or if it is to be stored again. */
    state: z
      .object({
        number: z.int(),
        key: z.string(),
        stored_bytes: z.int(),
        /** Of what is stored; null if an earlier release stored it. */
        stored_sha256: z.string().nullable().default(null),
      })
      .nullable(),
    /** The SHA-256 of the last states that this machine has stored, the newest last. */
    own_states: z.array(z.string()).default([]),
    /** The number of the last state that is known. */
    last_number: z.int(),
    /** What identifies the files of that state. */
    content: z.string().nullable(),
    /** Objects that are stored. */
    files: z.array(stateFile),
    /** Keys of objects that were damaged when they were last read. */
    damaged: z.array(z.string()).default([]),
  })
  // An earlier release noted only the last state.
  .transform((value) => {
    const last = value.state?.stored_sha256 ?? null;
    return value.own_states.length > 0 || last === null ? value : { ...value, own_states: [last] };
  });

/** What a store has of an archive, as far as this machine has stored it. */
export type LedgerEntry = z.output<typeof entry>;

/** What this machine has stored in one store: a cache. Without it, everything is stored again. */
export interface Ledger {
  read(archive: string): Promise<LedgerEntry | null>;
  write(value: LedgerEntry): Promise<void>;
  /** All entries that can be read. */
  list(): AsyncIterable<LedgerEntry>;
}

/** Entries in files of a folder. */
export function openLedger(folder: string): Ledger {
  const archives = join(folder, 'archives');
  const readPath = async (path: string) => {
    const text = await nullIfMissing(readFile(path, 'utf8'));
    return entry.safeParse(text === null ? null : parseJson(text)).data ?? null;
  };
  return {
    read: (archive) => readPath(join(archives, `${archive}.json`)),
    async write(value) {
      await mkdir(archives, { recursive: true, mode: 0o700 });
      await replaceFile(join(archives, `${value.archive}.json`), JSON.stringify(value));
    },
    async *list() {
      for (const name of (await nullIfMissing(readdir(archives))) ?? []) {
        if (!name.endsWith('.json')) continue;
        const value = await readPath(join(archives, name));
        if (value !== null) yield value;
      }
    },
  };
}
