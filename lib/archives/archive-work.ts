import { basename } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Environment } from '../config/read.ts';
import { AppError } from '../errors.ts';
import { ArchiveFault, type ArchiveFaultKind } from './base/archive-fault.ts';
import type { RecordedArchive } from './base/archive-owner.ts';
import { createWorkspaces } from './base/git-workspace.ts';
import type { ArchiveLimits } from './base/limits.ts';
import { type OpenArchive, openRecorded } from './base/open-archive.ts';
import type { ArchiveEntry, Verification } from './base/results.ts';
import { extractFromBundle, listBundle, type ZipRequest, zipBundle } from './bundle-contents.ts';
import type { TipChoice } from './chain/find-tip.ts';
import { readChain } from './chain/read-chain.ts';
import { compareFile, type FileComparison } from './compare/compare-file.ts';
import { type Comparison, compareVersions } from './compare/compare-versions.ts';
import type { CompareRequest } from './compare/compared.ts';
import type { ListRequest } from './contents/list-tree.ts';
import { describeExamination, examineArchive, judgeIntact } from './examine-archive.ts';
import { createKeptUnpacked, identifyArchive } from './kept-unpacked.ts';
import { createOpenZips } from './open-zips.ts';
import { readRecordedHash } from './recorded-hash.ts';
import { extractFromTarball, listTarball } from './tarball/tarball-contents.ts';
import { MAX_LISTED_REFS } from './verify-bundle.ts';

/** Where archives are, and what is needed to read them. */
export interface ArchiveWorkOptions {
  /** The archive folder (BACKUP_ARCHIVE_PATH). */
  root: string;
  /** Looks up the record of `owner/name`; null if there is none. */
  findRecord(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
  /** Where bundles are unpacked: a folder with enough disk space. */
  scratchFolder: string;
  /** Only PATH is used, to find git. */
  environment: Environment;
  clock: Clock;
  limits: ArchiveLimits;
}

/** What is known about an archive without reading all of it. */
export interface ArchiveFacts
  extends Pick<
    Verification,
    'repository' | 'archive' | 'format' | 'resolved_by' | 'archive_size_bytes'
  > {
  /** ISO 8601 in UTC. */
  modified_at: string;
  recorded_sha256: string | null;
  recorded_by: Verification['expected_by'];
  /** Its files in order; each continues the one before it. */
  files: ArchiveFile[];
  /** What the headers of its bundles say; null for a tar.gz, or if one cannot be read. */
  bundle: {
    object_format: string;
    objects: number;
    /** Whether it is complete by its headers: it needs no earlier bundle and leaves no objects out. */
    complete: boolean;
    ref_count: number;
    refs: { name: string; id: string }[];
  } | null;
  /** Why a header cannot be read. */
  fault: string | null;
}

/** A file of an archive. */
interface ArchiveFile {
  name: string;
  size_bytes: number;
  /** The recorded SHA-256; null if none is recorded. */
  sha256: string | null;
}

/** The outcome of a whole check, even of a damaged archive. */
export interface ArchiveCheck
  extends Omit<Verification, 'truncated' | 'integrity_status' | 'remark' | 'incomplete'> {
  truncated: boolean;
  integrity_status: Verification['integrity_status'] | ArchiveFaultKind;
  remark: string | null;
  /** What the repository has and the archive lacks; null if nothing is known. */
  incomplete: string | null;
  /** What is wrong with the archive, with the outcome of each check; null if it is intact. */
  fault: string | null;
}

/** Some entries of an archive. */
export interface ArchivePage {
  repository: string;
  archive: string;
  format: Verification['format'];
  entries: ArchiveEntry[];
  truncated: boolean;
}

/** An archive in its present state. */
export interface ArchiveState {
  /** The name of its file. */
  archive: string;
  /** Changes whenever one of its files does. */
  id: string;
}

/**
 * The work of reading one archive, which may be slow. Arguments and results are plain data, so that it can be done in
 * another process. Throws as `ArchiveReader` does.
 */
export interface ArchiveWork {
  check(repository: string, signal: AbortSignal): Promise<ArchiveCheck>;
  describe(repository: string, signal: AbortSignal): Promise<ArchiveFacts>;
  list(
    repository: string,
    request: ListRequest & TipChoice,
    signal: AbortSignal,
  ): Promise<ArchivePage>;
  identify(repository: string, signal: AbortSignal): Promise<ArchiveState>;
  /** Reads one file of at most `extractedBytes`. */
  readFile(
    repository: string,
    path: string,
    tip: TipChoice,
    signal: AbortSignal,
  ): Promise<ArchiveState & { bytes: Uint8Array }>;
  /** Compares two versions. */
  compare(
    repository: string,
    request: CompareRequest & { limit: number },
    signal: AbortSignal,
  ): Promise<Comparison>;
  /** Compares a file of two versions. */
  compareFile(
    repository: string,
    request: CompareRequest & { path: string },
    signal: AbortSignal,
  ): Promise<FileComparison>;
  /** Begins a zip of a folder, of a commit at `date`. It must be read to its end, or closed. */
  openZip(
    repository: string,
    request: ZipRequest,
    signal: AbortSignal,
  ): Promise<{ zip: number; date: string }>;
  /** The next bytes of a zip; null at its end. */
  readZip(zip: number, signal: AbortSignal): Promise<Uint8Array | null>;
  closeZip(zip: number, signal: AbortSignal): Promise<void>;
}

/** Does the work in this process. */
export function createArchiveWork(options: ArchiveWorkOptions): ArchiveWork {
  const { findRecord, clock, limits } = options;
  const workspaces = createWorkspaces(options);
  const kept = createKeptUnpacked(options.scratchFolder);
  const zips = createOpenZips(limits.zipPauseMs);
  const checksWith = (signal: AbortSignal) => ({ workspaces, kept, limits, signal });

  async function use<Answer>(
    repository: string,
    signal: AbortSignal,
    work: (archive: OpenArchive, record: RecordedArchive | null) => Promise<Answer>,
  ): Promise<Answer> {
    const { archive, record } = await openRecorded(options, repository, signal);
    try {
      return await work(archive, record);
    } finally {
      await archive.close();
    }
  }

  return {
    check: (repository, signal) =>
      use(repository, signal, async (archive, record) => {
        const context = { repository, findRecord, ...checksWith(signal) };
        const found = await examineArchive(archive, record, context);
        const { fault, proof, refs, refCount } = found;
        return {
          ...describeExamination(repository, found),
          truncated: refs.length < refCount,
          integrity_status: fault?.kind ?? judgeIntact(proof),
          remark: found.remark,
          incomplete: archive.note?.incomplete ?? null,
          fault: fault?.reason ?? null,
        };
      }),
    describe: (repository, signal) =>
      use(repository, signal, async (archive, record) => {
        const { expected, recordedBy } = readRecordedHash({ record, note: archive.note });
        return {
          repository,
          archive: archive.name,
          format: archive.format,
          resolved_by: archive.resolvedBy,
          archive_size_bytes: archive.sizeBytes,
          modified_at: new Date(archive.modifiedAt).toISOString(),
          recorded_sha256: expected,
          recorded_by: recordedBy,
          files: listFiles(archive, expected),
          ...(await describeHeaders(archive)),
        };
      }),
    list: (repository, request, signal) =>
      use(repository, signal, async (archive) => {
        const checks = checksWith(signal);
        const { entries, truncated } =
          archive.format === 'bundle'
            ? await listBundle(archive, request, { ...checks, clock })
            : await listTarball(onlyWhole(archive, request), request, checks);
        return { repository, archive: archive.name, format: archive.format, entries, truncated };
      }),
    identify: (repository, signal) => use(repository, signal, readState),
    compare: (repository, request, signal) =>
      use(repository, signal, async (archive) => {
        const checks = { ...checksWith(signal), clock };
        const found = await compareVersions(onlyBundle(archive), request, checks);
        return { repository, archive: archive.name, ...found };
      }),
    compareFile: (repository, request, signal) =>
      use(repository, signal, async (archive) => {
        const checks = { ...checksWith(signal), clock };
        const found = await compareFile(onlyBundle(archive), request, checks);
        return { repository, archive: archive.name, ...found };
      }),
    openZip: (repository, request, signal) =>
      zips.open(
        (ready, stop) =>
          use(repository, signal, (archive) =>
            zipBundle(onlyBundle(archive), request, { ...checksWith(stop), clock }, ready),
          ),
        signal,
      ),
    readZip: (zip) => zips.read(zip),
    closeZip: (zip) => zips.close(zip),
    readFile: (repository, path, tip, signal) =>
      use(repository, signal, async (archive) => {
        const state = await readState(archive);
        const { bytes } =
          archive.format === 'bundle'
            ? await extractFromBundle(archive, path, tip, checksWith(signal))
            : await extractFromTarball(onlyWhole(archive, tip), path, checksWith(signal));
        return { ...state, bytes };
      }),
  };
}

/** Throws CONFLICT for a tar.gz of an earlier release, which has neither versions nor a history. */
function onlyBundle(archive: OpenArchive): OpenArchive {
  if (archive.format === 'bundle') return archive;
  throw new AppError('CONFLICT', `${archive.name} is not a git bundle, and has no versions`);
}

/** The file of a tar.gz, which can only be read as a whole. Throws CONFLICT if a part is wanted. */
function onlyWhole(
  archive: OpenArchive,
  { version, ref, isFlat }: TipChoice & Pick<ListRequest, 'isFlat'>,
): OpenArchive['handle'] {
  const isWhole = version === undefined && ref === undefined && isFlat !== true;
  return isWhole ? archive.handle : onlyBundle(archive).handle;
}

async function readState(archive: OpenArchive): Promise<ArchiveState> {
  return { archive: archive.name, id: await identifyArchive(archive) };
}

function listFiles(
  { name, sizeBytes, increments }: OpenArchive,
  sha256: string | null,
): ArchiveFile[] {
  return [
    { name: basename(name), size_bytes: sizeBytes, sha256 },
    ...increments.map((increment) => ({
      name: basename(increment.name),
      size_bytes: increment.sizeBytes,
      sha256: increment.sha256,
    })),
  ];
}

async function describeHeaders(
  archive: OpenArchive,
): Promise<Pick<ArchiveFacts, 'bundle' | 'fault'>> {
  if (archive.format !== 'bundle') return { bundle: null, fault: null };
  try {
    const { base, increments, objects, refs } = await readChain(archive);
    const isWhole = [base, ...increments].every(({ header }) => header.filter === null);
    const bundle = {
      object_format: base.header.objectFormat,
      objects,
      complete: base.header.prerequisites.length === 0 && isWhole,
      ref_count: refs.length,
      refs: refs.slice(0, MAX_LISTED_REFS),
    };
    return { bundle, fault: null };
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    return { bundle: null, fault: error.message };
  }
}
