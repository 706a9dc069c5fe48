import * as z from 'zod';

const hash = z.string().meta({ description: 'SHA-256, in hex.' });
const recordedBy = z.enum(['database', 'note']).nullable().meta({
  description: 'Where the SHA-256 is recorded; note means the file beside the archive.',
});

const archive = {
  repository: z.string(),
  archive: z.string().meta({ description: 'File name in the archive folder.' }),
  format: z.enum(['bundle', 'tar.gz']),
};

const resolved = {
  ...archive,
  resolved_by: z
    .enum(['worker_repo_state', 'canonical_name', 'legacy_name', 'legacy_name_any_case'])
    .meta({ description: 'How the file was found.' }),
  archive_size_bytes: z.int(),
};

/** GET /api/archive-folder. */
export const archiveFolder = z
  .object({
    archive_path: z.string().meta({ description: 'Its path on this server.' }),
    total_disk_bytes: z.int().min(0),
    available_disk_bytes: z.int().min(0),
  })
  .meta({ id: 'ArchiveFolder' });

/** GET …/archive. */
export const archiveFacts = z
  .object({
    ...resolved,
    modified_at: z.iso.datetime(),
    recorded_sha256: hash.nullable(),
    recorded_by: recordedBy,
    files: z
      .array(
        z.object({
          name: z.string(),
          size_bytes: z.int(),
          sha256: hash.nullable().meta({ description: 'The recorded SHA-256; null if none is.' }),
        }),
      )
      .meta({ description: 'The archive, then the bundles that continue it, in order.' }),
    bundle: z
      .object({
        object_format: z.string().meta({ description: 'sha1 or sha256.' }),
        objects: z
          .int()
          .meta({ description: 'The number of objects that the packs claim to have.' }),
        complete: z.boolean().meta({
          description: 'Whether, by its headers, it needs no earlier bundle and omits no objects.',
        }),
        ref_count: z.int(),
        refs: z
          .array(z.object({ name: z.string(), id: z.string() }))
          .max(100)
          .meta({
            description:
              'The first 100, in the order of the newest bundle; an id may be that of a tag object.',
          }),
      })
      .nullable()
      .meta({
        description: 'The headers of the bundles; null for a tar.gz, or if one cannot be read.',
      }),
    fault: z
      .string()
      .nullable()
      .meta({ description: 'Why a header cannot be read; null if all can.' }),
  })
  .meta({ id: 'Archive' });

const outcome = z.enum(['passed', 'failed', 'not_recorded', 'not_applicable', 'not_checked']);

/** POST …/archive/verify. */
export const archiveCheck = z
  .object({
    ...resolved,
    sha256_checksum: hash,
    expected_sha256: hash.nullable(),
    expected_by: recordedBy,
    files: z.int().meta({
      description:
        'Number of files, all of them checked; more than one if bundles continue the archive.',
    }),
    refs: z.array(z.object({ name: z.string(), commit: z.string() })).max(100),
    ref_count: z.int(),
    pack_verified: z.boolean(),
    proof: z.object({
      checksum: outcome,
      header: outcome,
      pack_checksum: outcome,
      objects: outcome,
      history: outcome,
    }),
    truncated: z.boolean().meta({ description: 'Whether there are more refs.' }),
    integrity_status: z
      .enum([
        'VALID_UNCOMPROMISED',
        'VALID_UNRECORDED',
        'CHECKSUM_MISMATCH',
        'CORRUPT_ARCHIVE',
        'INCOMPLETE_HISTORY',
      ])
      .meta({ description: 'VALID_UNRECORDED: intact, but no SHA-256 is recorded.' }),
    remark: z.string().nullable().meta({
      description: 'How the note beside the archive differs from the database.',
    }),
    incomplete: z.string().nullable().meta({
      description: 'What the repository has but the archive lacks, such as files in Git LFS.',
    }),
    fault: z
      .string()
      .nullable()
      .meta({ description: 'What is wrong with the archive; null if nothing is.' }),
  })
  .meta({ id: 'ArchiveCheck' });

/** GET …/archive/files. */
export const archiveFiles = z
  .object({
    ...archive,
    entries: z.array(
      z.object({
        path: z.string(),
        size: z.int(),
        mode: z.string().meta({ description: 'Octal.' }),
        type: z.enum([
          'file',
          'directory',
          'symlink',
          'link',
          'submodule',
          'character-device',
          'block-device',
          'fifo',
          'unknown',
        ]),
      }),
    ),
    truncated: z.boolean().meta({ description: 'Whether there are, or may be, more files.' }),
    next: z
      .string()
      .nullable()
      .meta({ description: 'The cursor for the next call, if there are more.' }),
  })
  .meta({ id: 'ArchiveFiles' });

const comparedVersion = z.object({
  version: z.int().nullable().meta({ description: 'Null for an archive of an earlier release.' }),
  at: z.iso.datetime().meta({ description: 'When it was made.' }),
});

const truncated = z.boolean().meta({ description: 'Whether there are, or may be, more.' });

const commits = z
  .object({
    count: z.int().meta({ description: 'Counted up to 10,000.' }),
    data: z.array(
      z.object({
        id: z.string(),
        at: z.iso.datetime(),
        author: z.string(),
        subject: z.string().meta({ description: 'Without secrets; cut if it is long.' }),
      }),
    ),
    truncated,
  })
  .meta({ description: 'The newest first.' });

const pathOf = z.object({ repository: z.string(), archive: z.string() });

/** GET …/compare. */
export const comparison = z
  .object({
    ...pathOf.shape,
    from: comparedVersion.nullable().meta({ description: 'Null if nothing was kept before.' }),
    to: comparedVersion,
    refs: z.object({
      added: z.int(),
      moved: z.int(),
      removed: z.int(),
      data: z.array(
        z.object({
          name: z.string(),
          change: z.enum(['added', 'moved', 'removed']),
          from_id: z.string().nullable(),
          to_id: z.string().nullable(),
        }),
      ),
      truncated,
    }),
    commits: z
      .object({ added: commits, removed: commits })
      .meta({ description: 'Commits that any ref of only one of the versions leads to.' }),
    files: z.object({
      added: z.int(),
      changed: z.int(),
      removed: z.int(),
      data: z.array(
        z.object({
          path: z.string(),
          change: z.enum(['added', 'changed', 'removed']),
          type: z.enum(['file', 'symlink', 'submodule']),
        }),
      ),
      truncated,
    }),
  })
  .meta({ id: 'Comparison' });

const comparedFile = z
  .object({ size: z.int(), mode: z.string(), type: z.string() })
  .nullable()
  .meta({ description: 'Null where it does not exist.' });

/** GET …/compare/file. */
export const fileComparison = z
  .object({
    ...pathOf.shape,
    path: z.string(),
    from: comparedFile,
    to: comparedFile,
    kind: z.enum(['text', 'binary', 'too_large']),
    diff: z.string().nullable().meta({
      description:
        'A unified difference without its head. Null unless the kind is text; empty if the contents are equal.',
    }),
    truncated: z.boolean().meta({ description: 'Whether the rest of the difference was cut off.' }),
  })
  .meta({ id: 'FileComparison' });
