import * as z from 'zod';
import { bytes, timestamp } from '../shapes.ts';

/** GET …/versions. */
export const archiveVersion = z
  .object({
    version: z.int().meta({ description: 'Its number, from 1.' }),
    run_id: z.int().nullable().meta({ description: 'The run that made it.' }),
    created_at: timestamp,
    head_branch: z
      .string()
      .nullable()
      .meta({ description: 'The branch of HEAD; null if HEAD was detached or unborn.' }),
    ref_count: z.int().meta({ description: 'Branches, tags and other refs.' }),
    refs_sha256: z.string().meta({ description: 'Equal exactly if two versions have equal refs.' }),
    manifest_sha256: z.string().meta({ description: "SHA-256 of the version's manifest." }),
    files: z.int().meta({ description: 'How many files of the archive held it when it was made.' }),
    size_bytes: bytes.meta({ description: 'The size of the whole archive then.' }),
    new_bytes: bytes.meta({ description: 'What the version added to it.' }),
    warning: z.string().nullable().meta({
      description: 'Such as a rewritten history; at most 1,000 characters. Null if there is none.',
    }),
    pruned_at: timestamp.nullable().meta({
      description: 'When retention let it go; null as long as it can be restored.',
    }),
  })
  .meta({ id: 'ArchiveVersion', description: 'A state of a repository that was archived.' });

/** GET …/versions/:id/refs. */
export const versionRefs = z
  .object({
    version: archiveVersion,
    data: z
      .array(
        z.object({
          name: z.string().meta({
            description:
              'One of more than 1,000 bytes is cut and ends with its SHA-256; the manifest has it whole.',
            example: 'refs/heads/main',
          }),
          object_id: z.string(),
        }),
      )
      .meta({ description: 'By name, in the order of bytes.' }),
    next: z.string().nullable().meta({ description: 'To continue after; null at the end.' }),
  })
  .meta({ id: 'VersionRefs' });
