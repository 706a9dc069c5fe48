import { ArchiveFault } from './base/archive-fault.ts';
import type { RecordedArchive } from './base/archive-owner.ts';
import { hashFile } from './base/file-hash.ts';
import type { OpenArchive } from './base/open-archive.ts';
import type { Proof, Verification } from './base/results.ts';
import { compareHash } from './recorded-hash.ts';
import { readTarball } from './tarball/read-tarball.ts';
import {
  type BundleChecks,
  type BundleFindings,
  collectFindings,
  verifyBundle,
} from './verify-bundle.ts';

/** Everything that checking an archive found, intact or not. */
export interface Examination {
  archive: OpenArchive;
  sha256: string;
  expected: string | null;
  recordedBy: Verification['expected_by'];
  proof: Proof;
  refs: Verification['refs'];
  refCount: number;
  /** How many files were read. */
  files: number;
  /** A discrepancy in the note, if any. */
  remark: string | null;
  /** Null for an intact archive. Its message lists the outcome of each check. */
  fault: ArchiveFault | null;
}

/** Checks an open archive. Throws only errors that are not caused by the archive. */
export async function examineArchive(
  archive: OpenArchive,
  record: RecordedArchive | null,
  { repository, findRecord, ...checks }: ExaminationContext,
): Promise<Examination> {
  const { signal } = checks;
  const { sha256, findings } = await readWhole(archive, checks);
  let hash = compareHash(sha256, { record, note: archive.note });
  if (hash.checksum !== 'passed') {
    // A run may have replaced and recorded the archive since.
    const [now, note] = [await findRecord(repository, signal), await archive.readNote()];
    hash = compareHash(sha256, { record: now, note });
  }
  const { refs, refCount } = findings;
  const { expected, recordedBy, remark } = hash;
  // Covers the increments as well.
  const checksum = findings.fault?.kind === 'CHECKSUM_MISMATCH' ? 'failed' : hash.checksum;
  const proof = { checksum, ...findings.proof };
  const files = 1 + archive.increments.length;
  const facts = { sha256, expected, recordedBy, proof, refs, refCount, files, remark };
  const fault = findFault({ archive, ...facts }, findings, hash.checksum);
  return { archive, ...facts, fault };
}

interface ExaminationContext extends BundleChecks {
  repository: string;
  findRecord(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
}

/** What is reported about a whole check. */
export function describeExamination(repository: string, found: Examination) {
  const { archive, proof } = found;
  return {
    repository,
    archive: archive.name,
    format: archive.format,
    resolved_by: archive.resolvedBy,
    archive_size_bytes: archive.sizeBytes,
    sha256_checksum: found.sha256,
    expected_sha256: found.expected,
    expected_by: found.recordedBy,
    files: found.files,
    refs: found.refs,
    ref_count: found.refCount,
    pack_verified: proof.objects === 'passed',
    proof,
  };
}

/** The verdict on an archive without a fault. */
export function judgeIntact({ checksum }: Proof): Verification['integrity_status'] {
  return checksum === 'passed' ? 'VALID_UNCOMPROMISED' : 'VALID_UNRECORDED';
}

/** Checks every header of a tar.gz and, by the checksum of gzip, every byte. */
function verifyTarball({ handle }: OpenArchive, checks: BundleChecks): Promise<BundleFindings> {
  return collectFindings('not_applicable', async ({ proof }) => {
    await readTarball(handle, { ...checks, visit: () => 'next' });
    proof.header = 'passed';
  });
}

/** Hashes and verifies the file concurrently. If one fails, the other is aborted. */
async function readWhole(
  archive: OpenArchive,
  checks: BundleChecks,
): Promise<{ sha256: string; findings: BundleFindings }> {
  const failure = new AbortController();
  const signal = AbortSignal.any([checks.signal, failure.signal]);
  const stopOther = (error: unknown) => {
    failure.abort(error);
    throw error;
  };
  const end = archive.sizeBytes;
  const hashing = hashFile(archive.handle, 'sha256', { start: 0, end, signal });
  const verify = archive.format === 'bundle' ? verifyBundle : verifyTarball;
  const verifying = verify(archive, { ...checks, signal });
  // Both must end before the file is closed.
  await Promise.allSettled([hashing.catch(stopOther), verifying.catch(stopOther)]);
  signal.throwIfAborted();
  return { sha256: (await hashing).toString('hex'), findings: await verifying };
}

/** The fault of a damaged archive, with the outcome of each check; null for an intact one. */
function findFault(
  { archive, sha256, expected, proof, remark }: Omit<Examination, 'fault'>,
  { fault }: BundleFindings,
  checksum: Proof['checksum'],
): ArchiveFault | null {
  const checks = Object.entries(proof).map(([name, outcome]) => `${name} ${outcome}`);
  const withChecks = (reason: string) => `${archive.name}: ${reason} (${checks.join(', ')})`;
  if (checksum !== 'failed') {
    return fault && new ArchiveFault(fault.kind, withChecks(fault.reason));
  }
  const also = fault === null ? '' : `; also ${fault.kind}: ${fault.reason}`;
  const noteRemark = remark === null ? '' : `; ${remark}`;
  return new ArchiveFault(
    'CHECKSUM_MISMATCH',
    withChecks(`its SHA-256 is ${sha256}, recorded is ${expected}${noteRemark}${also}`),
  );
}
