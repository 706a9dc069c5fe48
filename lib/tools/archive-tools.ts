import { z } from 'zod';
import { archiveListing, archiveVerification, extractedFile } from './archive-shapes.ts';
import { limitParameter, textParameter } from './input.ts';
import { readTool } from './tool.ts';

const repo_name = textParameter(
  'Repository as owner/name; a bare name for an archive of the legacy naming.',
  255,
);

/** Whether an archive is whole (spec 3, Tool behaviour 6; decisions 6). */
export const verifyArchiveIntegrity = readTool({
  name: 'verify_archive_integrity',
  title: 'Verify archive integrity',
  description:
    "Prove that a repository's archive is whole: its SHA-256 against the recorded one, and for a git bundle the header, the pack's own checksum, every object and a complete history, for a tar.gz every header. VALID_UNCOMPROMISED only when all of it holds; anything less is an error that starts with CHECKSUM_MISMATCH, CORRUPT_ARCHIVE or INCOMPLETE_HISTORY. Reads the whole archive.",
  input: z.strictObject({ repo_name }),
  output: archiveVerification,
  handler: ({ repo_name }, { archives }, { signal }) => archives.verify(repo_name, signal),
});

/** What an archive holds (spec 3, Tool behaviour 7). */
export const inspectArchiveContents = readTool({
  name: 'inspect_archive_contents',
  title: 'Inspect archive contents',
  description:
    "List the files of a repository's archive: the headers of a tar.gz, or the tree of a git bundle's default branch.",
  input: z.strictObject({
    repo_name,
    prefix: z
      .string()
      .max(4096)
      .optional()
      .meta({ description: 'Only paths that begin with this text.' }),
    limit: limitParameter('Most entries to return.', { default: 50, max: 200 }),
  }),
  output: archiveListing,
  handler: ({ repo_name, prefix, limit }, { archives }, { signal }) =>
    archives.inspect(repo_name, { prefix, limit }, signal),
});

/** One file of an archive (spec 3, Tool behaviour 8; decisions 6). */
export const extractBackupFile = readTool({
  name: 'extract_backup_file',
  title: 'Extract backup file',
  description:
    "Read one file of at most 10 MiB from a repository's archive, from the default branch where it is a git bundle. Text comes as utf-8, anything else as base64.",
  input: z.strictObject({
    repo_name,
    file_path: textParameter(
      'Path of the file inside the archive, relative, with forward slashes and without "..".',
      4096,
    ),
  }),
  output: extractedFile,
  handler: ({ repo_name, file_path }, { archives }, { signal }) =>
    archives.extract(repo_name, file_path, signal),
});
