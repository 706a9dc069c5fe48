import * as z from 'zod';
import { restFields } from './answer-budget.ts';

// What lib/archives answers, as the protocol publishes it.

const archive = {
  repository: z.string(),
  /** File name. */
  archive: z.string(),
};
const format = z.enum(['bundle', 'tar.gz']);

/** What was checked of an archive, and how each check ended. */
export const archiveVerification = z.object({
  ...archive,
  format,
  resolved_by: z.string(),
  archive_size_bytes: z.number(),
  sha256_checksum: z.string(),
  expected_sha256: z.string().nullable(),
  /** database or note (the file beside the archive); null where no SHA-256 is recorded. */
  expected_by: z.string().nullable(),
  refs: z.array(z.object({ name: z.string(), commit: z.string() })),
  ...restFields,
  pack_verified: z.boolean(),
  integrity_status: z.string(),
  proof: z.object({
    checksum: z.string(),
    header: z.string(),
    pack_checksum: z.string(),
    objects: z.string(),
    history: z.string(),
  }),
  /** What differs between the note beside the archive and the database's record. */
  remark: z.string().optional(),
});

/** The entries of an archive. */
export const archiveListing = z.object({
  ...archive,
  format,
  entries: z.array(
    z.object({ path: z.string(), size: z.number(), mode: z.string(), type: z.string() }),
  ),
  returned: z.number(),
  ...restFields,
  truncated: z.boolean(),
});

/** A part of one file of an archive. The content comes last: what cuts an answer cuts its end. */
export const extractedFile = z.object({
  ...archive,
  path: z.string(),
  /** Only when secrets were taken out: how many, and that the content is not the file's. */
  redacted: z.number().optional(),
  notice: z.string().optional(),
  size: z.number(),
  encoding: z.enum(['utf-8', 'base64']),
  bytes: z.object({ offset: z.number(), length: z.number(), total: z.number() }),
  /** Null for what is no text. */
  lines: z.object({ start: z.number(), end: z.number(), total: z.number() }).nullable(),
  ...restFields,
  truncated: z.boolean(),
  content: z.string(),
});
