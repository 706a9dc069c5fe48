import { z } from 'zod';
import { truncated } from './shapes.ts';

// What lib/archives answers, as the protocol publishes it.

const archive = {
  repository: z.string(),
  /** File name. */
  archive: z.string(),
};
const format = z.enum(['bundle', 'tar.gz']);

/** What was checked of an archive, and how each check ended (decisions 6). */
export const archiveVerification = z.object({
  ...archive,
  format,
  resolved_by: z.string(),
  archive_size_bytes: z.number(),
  sha256_checksum: z.string(),
  expected_sha256: z.string().nullable(),
  refs: z.array(z.object({ name: z.string(), commit: z.string() })),
  truncated,
  pack_verified: z.boolean(),
  integrity_status: z.string(),
  proof: z.object({
    checksum: z.string(),
    header: z.string(),
    pack_checksum: z.string(),
    objects: z.string(),
    history: z.string(),
  }),
});

/** The entries of an archive. */
export const archiveListing = z.object({
  ...archive,
  format,
  entries: z.array(
    z.object({ path: z.string(), size: z.number(), mode: z.string(), type: z.string() }),
  ),
  returned: z.number(),
  truncated: z.boolean(),
});

/** One file of an archive. */
export const extractedFile = z.object({
  ...archive,
  path: z.string(),
  size: z.number(),
  encoding: z.enum(['utf-8', 'base64']),
  content: z.string(),
});
