import * as z from 'zod';
import { bytes, timestamp } from '../base/shapes.ts';

/** GET …/versions. */
export const archiveVersion = z
  .object({
    version: z.int().meta({ description: 'The number of the version, from 1.' }),
    run_id: z.int().nullable().meta({ description: 'The run that made it.' }),
    created_at: timestamp,
    head_branch: z.string().nullable().meta({
      description: 'The branch of HEAD; null if HEAD was detached or its branch is unknown.',
    }),
    ref_count: z.int().meta({ description: 'Branches, tags and other refs.' }),
    refs_sha256: z
      .string()
      .meta({ description: 'Equal if and only if two versions have equal refs.' }),
    manifest_sha256: z.string().meta({ description: "SHA-256 of the version's manifest." }),
    files: z
      .int()
      .meta({ description: 'How many archive files held the version when it was made.' }),
    size_bytes: bytes.meta({ description: 'The size of the whole archive at that time.' }),
    new_bytes: bytes.nullable().meta({
      description:
        'The size of the objects that the version added to the archive, compressed. Null if it was not recorded.',
    }),
    warning: z.string().nullable().meta({
      description:
        'A warning, such as a rewritten history; at most 1,000 characters. Null if there is none.',
    }),
    pruned_at: timestamp.nullable().meta({
      description: 'When retention pruned the version; null while it can be restored.',
    }),
  })
  .meta({ id: 'ArchiveVersion', description: 'An archived state of a repository.' });

/** GET …/versions/:id/refs. */
export const versionRefs = z
  .object({
    version: archiveVersion,
    data: z
      .array(
        z.object({
          name: z.string().meta({
            description:
              'A name of more than 1,000 bytes is cut and ends with its SHA-256; the manifest has the full name.',
            example: 'refs/heads/main',
          }),
          object_id: z.string(),
        }),
      )
      .meta({ description: 'Sorted by name, in byte order.' }),
    next: z
      .string()
      .nullable()
      .meta({ description: 'Where the next call continues; null at the end.' }),
  })
  .meta({ id: 'VersionRefs' });
