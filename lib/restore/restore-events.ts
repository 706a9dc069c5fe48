import * as z from 'zod';
import { parseJson } from '../json.ts';

/** What a restore does, in order. */
export const restoreSteps = ['unpacking', 'proving', 'writing', 'pushing'] as const;
export type RestoreStep = (typeof restoreSteps)[number];

/** What a restore has achieved. Texts come from the archive. */
const restoredFacts = z.object({
  /** Null for an archive of an earlier release. */
  version: z.int().nullable(),
  at: z.string(),
  refs: z.int(),
  head_branch: z.string().nullable(),
  head_commit: z.string().nullable(),
  /** Files of the archive that it needed, and their sum. */
  files: z.int(),
  size_bytes: z.int(),
  /** Whether a SHA-256 of each file was recorded, and compared. */
  is_recorded: z.boolean(),
  /** Files whose names the file system rejects. */
  unwritten: z.int(),
});

/** What arrived on a git host. */
const pushedFacts = z.object({
  same: z.int(),
  missing: z.int(),
  /** Refs that a host does not accept, such as those of pull requests. */
  left_out: z.int(),
  /** Whether the default branch there is that of the backup. */
  has_default_branch: z.boolean(),
});

/** A line of `worker restore --json`. */
export const restoreEvent = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('step'),
    step: z.enum(restoreSteps),
    /** Files of the archive unpacked so far, and all of them; null for other steps. */
    files: z.int().nullable(),
    all_files: z.int().nullable(),
  }),
  z.object({ event: z.literal('restored'), ...restoredFacts.shape }),
  z.object({ event: z.literal('pushed'), ...pushedFacts.shape }),
]);

export type RestoreEvent = z.output<typeof restoreEvent>;
export type RestoredFacts = z.output<typeof restoredFacts>;
export type PushedFacts = z.output<typeof pushedFacts>;

/** Reads a line; null if it is none of ours. */
export function parseRestoreEvent(line: string): RestoreEvent | null {
  return restoreEvent.safeParse(parseJson(line)).data ?? null;
}
