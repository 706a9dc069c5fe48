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
    /** The last state that was stored, with its size; null if there is none, or if it must be stored again. */
    state: z
      .object({
        number: z.int(),
        key: z.string(),
        stored_bytes: z.int(),
        /** SHA-256 of the stored bytes; null if an earlier release stored them. */
        stored_sha256: z.string().nullable().default(null),
      })
      .nullable(),
    /** SHA-256 of the last states that this machine stored, newest last. */
    own_states: z.array(z.string()).default([]),
    /**
     * The last states in a row that this machine stored of one unbroken archive, each of which has all versions that
     * were kept of the one before it; null if that was not recorded.
     */
    chain: z
      .object({
        /** The numbers of the first and the last of them. */
        first: z.int(),
        last: z.int(),
        /** SHA-256 of the manifest of the last one's newest version. */
        version: z.string(),
      })
      .nullable()
      .default(null),
    /** The highest state number known. */
    last_number: z.int(),
    /** Identifies the files of that state. */
    content: z.string().nullable(),
    /** The stored objects. */
    files: z.array(stateFile),
    /** Keys of objects that were damaged when they were last read, or that the store has not confirmed. */
    damaged: z.array(z.string()).default([]),
    /** Keys of damaged objects that were stored anew under another key: no state needs them. */
    replaced: z.array(z.string()).default([]),
  })
  // Earlier releases recorded only the last state.
  .transform((value) => {
    const last = value.state?.stored_sha256 ?? null;
    return value.own_states.length > 0 || last === null ? value : { ...value, own_states: [last] };
  });

/** What this machine has stored of an archive in one store. */
export type LedgerEntry = z.output<typeof entry>;

/** What this machine has stored in one store. It is a cache: without it, everything is stored again. */
export interface Ledger {
  read(archive: string): Promise<LedgerEntry | null>;
  write(value: LedgerEntry): Promise<void>;
  /** All readable entries. */
  list(): AsyncIterable<LedgerEntry>;
}

/** Keeps the entries as files of a folder. */
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
