import type { Clock } from '../clock.ts';
import type { Environment } from '../config/read.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { ArchiveFault } from './archive-fault.ts';
import { extractFromBundle, listBundle } from './bundle-contents.ts';
import { createCallerLimit } from './caller-limit.ts';
import { checkFilePath, showContent } from './file-content.ts';
import { hashFile } from './file-hash.ts';
import { checkRange, type FileRange, takeRange } from './file-range.ts';
import { createWorkspaces } from './git-workspace.ts';
import { type ArchiveLimits, archiveLimits } from './limits.ts';
import { type OpenArchive, openArchive, type RecordedArchive } from './open-archive.ts';
import { compareHash, type HashVerdict } from './recorded-hash.ts';
import type { ExtractedFile, Listing, Proof, Verification } from './results.ts';
import { extractFromTarball, listTarball } from './tarball-contents.ts';
import { type BundleChecks, type Findings, verifyBundle } from './verify-bundle.ts';
import { verifyTarball } from './verify-tarball.ts';

/** A call of the reader. */
export interface ArchiveCall {
  signal: AbortSignal;
  /** One caller never uses all concurrent slots. Calls without a caller count as one. */
  caller?: string | undefined;
  /** Maximum length of a response with a file, as JSON, if less than the reader's limit. */
  maxChars?: number;
}

/**
 * Reads archives below one folder. Throws AppError: BAD_REQUEST for an invalid name or path, NOT_FOUND,
 * PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE (no git, time or disk space), and CONFLICT for a damaged archive,
 * with a message that starts with CHECKSUM_MISMATCH, CORRUPT_ARCHIVE or INCOMPLETE_HISTORY.
 */
export interface ArchiveReader {
  /** Verifies that an archive is intact. */
  verify(repository: string, call: ArchiveCall): Promise<Verification>;
  /** Lists at most `limit` entries whose path starts with `prefix`. */
  inspect(
    repository: string,
    options: { prefix?: string | undefined; limit: number },
    call: ArchiveCall,
  ): Promise<Listing>;
  /** Returns a range of one file of at most 10 MiB, as much as fits a response. */
  extract(
    repository: string,
    filePath: string,
    range: FileRange,
    call: ArchiveCall,
  ): Promise<ExtractedFile>;
}

export interface ArchiveReaderOptions {
  /** The archive folder (BACKUP_ARCHIVE_PATH). */
  root: string;
  /** Looks up the record of `owner/name`; null if there is none. */
  findRecord(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
  /** Where bundles are unpacked: a folder with enough disk space. */
  scratchFolder: string;
  /** Only PATH is used, to find git. */
  environment: Environment;
  clock: Clock;
  /** Removes secrets from a whole file, before a range could split one. */
  redactor: Pick<Redactor, 'countedInSteps'>;
  /** Default: `archiveLimits`. */
  limits?: Partial<ArchiveLimits>;
}

/** Each call may use all cores and up to 2 GiB of disk. */
const AT_ONCE = { total: 4, perCaller: 2 };

/** Opens a reader for a folder. Never writes to it, and never follows links out of it. */
export function createArchiveReader(options: ArchiveReaderOptions): ArchiveReader {
  const { root, findRecord } = options;
  const limits = { ...archiveLimits, ...options.limits };
  const workspaces = createWorkspaces({ ...options, gitTimeoutMs: limits.gitTimeoutMs });
  const limit = createCallerLimit(AT_ONCE);

  const withArchive = async <Answer>(
    repository: string,
    { signal, caller = '' }: ArchiveCall,
    work: (archive: OpenArchive, record: RecordedArchive | null) => Promise<Answer>,
  ) => {
    const record = await findRecord(repository, signal);
    const archive = await openArchive(root, repository, record);
    try {
      return await limit(caller, signal, () => work(archive, record));
    } finally {
      await archive.handle.close();
    }
  };

  return {
    verify: (repository, call) =>
      withArchive(repository, call, async (archive, record) => {
        const { signal } = call;
        const { sha256, findings } = await examine(archive, { workspaces, limits, signal });
        let hash = compareHash(sha256, { record, note: archive.note });
        if (hash.checksum !== 'passed') {
          // Meanwhile, a run may have replaced and recorded the archive.
          const [now, note] = [await findRecord(repository, signal), await archive.readNote()];
          hash = compareHash(sha256, { record: now, note });
        }
        const proof = { checksum: hash.checksum, ...findings.proof };
        throwIfDamaged(archive, { sha256, hash, proof, findings });
        const { refs, truncated } = findings;
        const { remark } = hash;
        return {
          repository,
          archive: archive.name,
          format: archive.format,
          resolved_by: archive.resolvedBy,
          archive_size_bytes: archive.sizeBytes,
          sha256_checksum: sha256,
          expected_sha256: hash.expected,
          expected_by: hash.recordedBy,
          refs,
          ...(truncated ? { truncated } : {}),
          pack_verified: proof.objects === 'passed',
          integrity_status: hash.checksum === 'passed' ? 'VALID_UNCOMPROMISED' : 'VALID_UNRECORDED',
          proof,
          ...(remark === null ? {} : { remark }),
        };
      }),

    inspect: (repository, { prefix = '', limit }, call) =>
      withArchive(repository, call, async (archive) => {
        const request = { prefix, limit };
        const checks = { workspaces, limits, signal: call.signal };
        const { entries, truncated } =
          archive.format === 'bundle'
            ? await listBundle(archive, request, { ...checks, clock: options.clock })
            : await listTarball(archive.handle, request, checks);
        const { name, format } = archive;
        const returned = entries.length;
        return { repository, archive: name, format, entries, returned, truncated };
      }),

    async extract(repository, filePath, range, call) {
      checkFilePath(filePath);
      checkRange(range);
      return withArchive(repository, call, async (archive) => {
        const checks = { workspaces, limits, signal: call.signal };
        const file =
          archive.format === 'bundle'
            ? await extractFromBundle(archive, filePath, checks)
            : await extractFromTarball(archive.handle, filePath, checks);
        const shown = await showContent(file, options.redactor);
        const { notes } = shown;
        const facts = { repository, archive: archive.name, path: file.path, ...notes };
        const maxChars = Math.min(
          call.maxChars ?? limits.answerCharacters,
          limits.answerCharacters,
        );
        return takeRange(facts, shown, range, maxChars);
      });
    },
  };
}

/** Hashes and verifies the file concurrently. If one fails, the other is aborted. */
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
  // Both must end before the file is closed.
  await Promise.allSettled([hashing.catch(stopOther), verifying.catch(stopOther)]);
  signal.throwIfAborted();
  return { sha256: (await hashing).toString('hex'), findings: await verifying };
}

/** Throws ArchiveFault for a damaged archive, listing the outcome of each check. */
function throwIfDamaged(
  archive: OpenArchive,
  {
    sha256,
    hash: { checksum, expected, remark },
    proof,
    findings: { fault },
  }: { sha256: string; hash: HashVerdict; proof: Proof; findings: Findings },
): void {
  if (checksum !== 'failed' && fault === null) return;
  const checks = Object.entries(proof).map(([name, outcome]) => `${name} ${outcome}`);
  const withChecks = (reason: string) => `${archive.name}: ${reason} (${checks.join(', ')})`;
  if (checksum !== 'failed' && fault) throw new ArchiveFault(fault.kind, withChecks(fault.reason));
  const also = fault === null ? '' : `; also ${fault.kind}: ${fault.reason}`;
  const noteRemark = remark === null ? '' : `; ${remark}`;
  throw new ArchiveFault(
    'CHECKSUM_MISMATCH',
    withChecks(`its SHA-256 is ${sha256}, recorded is ${expected}${noteRemark}${also}`),
  );
}
