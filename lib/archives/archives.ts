import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/config/read.ts';
import type { CheckOutcome, ExtractedFile, Listing, Proof, Verification } from './answers.ts';
import { extractFromBundle, listBundle } from './bundle-contents.ts';
import { ArchiveFault } from './fault.ts';
import { checkFilePath, encodeContent } from './file-content.ts';
import { hashFile } from './file-hash.ts';
import { createWorkspaces } from './git-workspace.ts';
import { type ArchiveLimits, archiveLimits } from './limits.ts';
import { type OpenArchive, openArchive, type RecordedArchive } from './open-archive.ts';
import { extractFromTarball, listTarball } from './tarball-contents.ts';
import { type BundleChecks, type Findings, verifyBundle } from './verify-bundle.ts';
import { verifyTarball } from './verify-tarball.ts';

/**
 * Reads archives below one folder. Throws AppError: BAD_REQUEST for a name or path that is refused,
 * NOT_FOUND, PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE (no git, no time, no room), and CONFLICT for an archive
 * that is not whole, its message beginning with CHECKSUM_MISMATCH, CORRUPT_ARCHIVE or INCOMPLETE_HISTORY
 * (decisions 6).
 */
export interface ArchiveReader {
  /** Proves that an archive is whole (spec 3, Tool behaviour 6). */
  verify(repository: string, signal: AbortSignal): Promise<Verification>;
  /** Lists entries whose path begins with `prefix`; at most `limit` (spec 3, Tool behaviour 7). */
  inspect(
    repository: string,
    options: { prefix?: string | undefined; limit: number },
    signal: AbortSignal,
  ): Promise<Listing>;
  /** One file of at most 10 MiB (spec 3, Tool behaviour 8). */
  extract(repository: string, filePath: string, signal: AbortSignal): Promise<ExtractedFile>;
}

export interface ArchiveReaderOptions {
  /** The archive folder (decisions 2, BACKUP_ARCHIVE_PATH). */
  root: string;
  /** Looks up what is recorded of `owner/name`; null when nothing is. */
  findRecord(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
  /** Where bundles are unpacked: a folder on a disk with room for them. */
  scratchFolder: string;
  /** Only PATH is taken from it, to find git. */
  environment: Environment;
  clock: Clock;
  /** Takes secrets out of what is not text, before base64 hides them. */
  redact(text: string): string;
  /** Default: those of the specification. */
  limits?: Partial<ArchiveLimits>;
}

/** Reads the archives below a folder. Nothing there is ever written, and no link leads out of it. */
export function createArchiveReader(options: ArchiveReaderOptions): ArchiveReader {
  const { root, findRecord } = options;
  const limits = { ...archiveLimits, ...options.limits };
  const workspaces = createWorkspaces({ ...options, gitTimeoutMs: limits.gitTimeoutMs });

  const withArchive = async <Answer>(
    repository: string,
    signal: AbortSignal,
    work: (archive: OpenArchive, recorded: RecordedArchive | null) => Promise<Answer>,
  ) => {
    const recorded = await findRecord(repository, signal);
    const archive = await openArchive(root, repository, recorded);
    try {
      return await work(archive, recorded);
    } finally {
      await archive.handle.close();
    }
  };

  return {
    verify: (repository, signal) =>
      withArchive(repository, signal, async (archive, recorded) => {
        const { sha256, findings } = await examine(archive, { workspaces, limits, signal });
        let expected = sha256Of(recorded);
        if (expected !== null && expected !== sha256) {
          // The worker puts an archive in its place and then records it: it may just have done so.
          expected = sha256Of(await findRecord(repository, signal));
        }
        const checksum = compare(sha256, expected);
        const proof = { checksum, ...findings.proof };
        refuse(archive, { sha256, expected, proof, findings });
        const { refs, truncated } = findings;
        return {
          repository,
          archive: archive.name,
          format: archive.format,
          resolved_by: archive.resolvedBy,
          archive_size_bytes: archive.sizeBytes,
          sha256_checksum: sha256,
          expected_sha256: expected,
          refs,
          ...(truncated ? { truncated } : {}),
          pack_verified: proof.objects === 'passed',
          integrity_status: 'VALID_UNCOMPROMISED',
          proof,
        };
      }),

    inspect: (repository, { prefix = '', limit }, signal) =>
      withArchive(repository, signal, async (archive) => {
        const request = { prefix, limit };
        const { entries, truncated } =
          archive.format === 'bundle'
            ? await listBundle(archive, request, { workspaces, limits, signal })
            : await listTarball(archive.handle, request, { limits, signal });
        const { name, format } = archive;
        const returned = entries.length;
        return { repository, archive: name, format, entries, returned, truncated };
      }),

    async extract(repository, filePath, signal) {
      checkFilePath(filePath);
      return withArchive(repository, signal, async (archive) => {
        const content =
          archive.format === 'bundle'
            ? await extractFromBundle(archive, filePath, { workspaces, limits, signal })
            : await extractFromTarball(archive.handle, filePath, { limits, signal });
        return { repository, archive: archive.name, ...encodeContent(content, options.redact) };
      });
    },
  };
}

/** The file's SHA-256 and what is in it, found out at once. One that fails stops the other. */
async function examine(
  archive: OpenArchive,
  checks: BundleChecks,
): Promise<{ sha256: string; findings: Findings }> {
  const failure = new AbortController();
  const signal = AbortSignal.any([checks.signal, failure.signal]);
  const stopOther = (error: unknown) => {
    failure.abort(error);
    throw error;
  };
  const end = archive.sizeBytes;
  const hashing = hashFile(archive.handle, 'sha256', { start: 0, end, signal });
  const verifying =
    archive.format === 'bundle'
      ? verifyBundle(archive, { ...checks, signal })
      : verifyTarball(archive.handle, { ...checks, signal });
  // Both have to end before the file is closed.
  await Promise.allSettled([hashing.catch(stopOther), verifying.catch(stopOther)]);
  signal.throwIfAborted();
  return { sha256: (await hashing).toString('hex'), findings: await verifying };
}

function sha256Of(recorded: RecordedArchive | null): string | null {
  return recorded?.archive_sha256.trim().toLowerCase() || null;
}

function compare(sha256: string, expected: string | null): CheckOutcome {
  if (expected === null) return 'not_recorded';
  return sha256 === expected ? 'passed' : 'failed';
}

/** Throws ArchiveFault for an archive that is not whole, with what was proved of it. */
function refuse(
  archive: OpenArchive,
  {
    sha256,
    expected,
    proof,
    findings: { fault },
  }: { sha256: string; expected: string | null; proof: Proof; findings: Findings },
): void {
  if (proof.checksum !== 'failed' && fault === null) return;
  const checks = Object.entries(proof).map(([name, outcome]) => `${name} ${outcome}`);
  const tell = (reason: string) => `${archive.name}: ${reason} (${checks.join(', ')})`;
  if (proof.checksum !== 'failed' && fault) throw new ArchiveFault(fault.kind, tell(fault.reason));
  const also = fault === null ? '' : `; also ${fault.kind}: ${fault.reason}`;
  throw new ArchiveFault(
    'CHECKSUM_MISMATCH',
    tell(`its SHA-256 is ${sha256}, recorded is ${expected}${also}`),
  );
}
