import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from '../git/git.ts';
import { ArchiveFault, corrupt, incomplete } from './base/archive-fault.ts';
import type { BundleHeader } from './base/bundle-header.ts';
import { hashFile } from './base/file-hash.ts';
import { isRejection, type Workspace, type Workspaces } from './base/git-workspace.ts';
import type { ArchiveLimits } from './base/limits.ts';
import type { OpenArchive } from './base/open-archive.ts';
import type { ArchivedRef, Proof } from './base/results.ts';
import { checkHash, hashWhile } from './chain/hash-while.ts';
import { proveHistory } from './chain/prove-history.ts';
import { type Chain, type ChainFile, named, readChain } from './chain/read-chain.ts';
import { readTips } from './chain/read-manifests.ts';
import {
  describeRejection,
  makeRepository,
  unpackBundle,
  whyNotUnpacked,
} from './unpack-bundle.ts';

/** How many refs of an archive are listed. */
export const MAX_LISTED_REFS = 100;

/** The results of verifying an archive, except the checksum of its first file. */
export interface BundleFindings {
  proof: Omit<Proof, 'checksum'>;
  /** Null if the archive is intact. */
  fault: ArchiveFault | null;
  /** At most 100. */
  refs: ArchivedRef[];
  refCount: number;
}

export interface BundleChecks {
  workspaces: Workspaces;
  limits: ArchiveLimits;
  signal: AbortSignal;
}

/**
 * Verifies a bundle: its header, also with `git bundle verify` (which accepts a damaged pack and a shallow
 * history); then the pack, by unpacking it with git and checking all objects and the links between them; then
 * that its refs point to objects of the pack. Does the same with the increments that continue it, hashes them, and
 * checks that every version has its manifest and all its objects. Throws only errors that are not caused by the
 * archive.
 */
export function verifyBundle(archive: OpenArchive, checks: BundleChecks): Promise<BundleFindings> {
  return collectFindings('not_checked', (findings) => runChecks(findings, archive, checks));
}

/** Runs checks of an archive until one fails. Throws only errors that are not caused by the archive. */
export async function collectFindings(
  undecided: 'not_checked' | 'not_applicable',
  check: (findings: BundleFindings) => Promise<void>,
): Promise<BundleFindings> {
  const findings: BundleFindings = {
    proof: {
      header: 'failed',
      pack_checksum: undecided,
      objects: undecided,
      history: undecided,
    },
    fault: null,
    refs: [],
    refCount: 0,
  };
  try {
    await check(findings);
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    findings.fault = error;
  }
  return findings;
}

async function runChecks(findings: BundleFindings, archive: OpenArchive, checks: BundleChecks) {
  const { workspaces, limits, signal } = checks;
  const { proof } = findings;
  const chain = await readChain(archive);
  const { base, increments, sizeBytes } = chain;
  const known = whyNotComplete(chain, limits);
  if (known !== null) {
    proof.header = 'passed';
    await checkPackChecksum(findings, base, signal);
    for (const file of increments) await named(file.name, () => checkHash(file, signal));
    // A bundle that is merely too large may have a complete history.
    if (whyNotUnpacked(chain, limits) === null) proof.history = 'failed';
    throw incomplete(known);
  }
  // Reads them now, because a run may prune versions later. A fault is reported once the objects are checked.
  const [tips] = await Promise.allSettled([readTips(archive, signal)]);
  await workspaces.use({ signal, sizeBytes }, async (workspace) => {
    const gitDir = await makeRepository(workspace, chain);
    await checkHeader(workspace, gitDir, base);
    proof.header = 'passed';
    await checkPack(findings, workspace, { gitDir, file: base, links: true }, signal);
    proof.history = 'failed';
    await readRefs(workspace, gitDir, base.header.refs);
    for (const file of increments) {
      const check = () => checkPack(findings, workspace, { gitDir, file, links: false }, signal);
      await named(file.name, () => hashWhile(file, signal, check));
    }
    if (tips.status === 'rejected') throw tips.reason;
    const idsOf = (refs: BundleHeader['refs']) => refs.map(({ id }) => id);
    const ids = new Set([...idsOf(chain.refs), ...tips.value]);
    await proveHistory(workspace, gitDir, { tips: ids, proven: idsOf(base.header.refs) });
    const listed = await readRefs(workspace, gitDir, chain.refs.slice(0, MAX_LISTED_REFS));
    proof.history = 'passed';
    findings.refs = takeListed(listed, limits.listedCharacters);
    findings.refCount = chain.refs.length;
  });
}

/** Why the history is incomplete according to the headers, or cannot be checked; null if neither. */
function whyNotComplete(chain: Chain, limits: ArchiveLimits): string | null {
  const { base, increments } = chain;
  const { prerequisites } = base.header;
  if (prerequisites.length > 0) {
    return `the bundle is incremental: it needs commits that it does not contain, the first ${prerequisites[0]}`;
  }
  const filtered = [base, ...increments].find(({ header }) => header.filter !== null);
  if (filtered !== undefined) {
    const which = filtered === base ? 'the bundle' : filtered.name;
    return `${which} was created with a filter that excluded objects`;
  }
  const why = whyNotUnpacked(chain, limits);
  if (why === null) return null;
  return `the bundle was not unpacked because ${why}, so neither its objects nor its history were verified; this is not a sign of damage`;
}

async function checkHeader(
  { git, folder }: Workspace,
  gitDir: string,
  { handle, header }: ChainFile,
): Promise<void> {
  // A copy of the header, which is all that git reads here: by now, the archive's name may belong to another
  // file.
  const copy = join(folder, 'header.bundle');
  const { buffer } = await handle.read(Buffer.alloc(header.length), 0, header.length, 0);
  await writeFile(copy, buffer);
  try {
    await git.read([`--git-dir=${gitDir}`, 'bundle', 'verify', '--quiet', copy]);
  } catch (error) {
    if (isRejection(error)) throw corrupt(`git bundle verify failed: ${error.message}`);
    throw error;
  }
}

async function checkPack(
  findings: BundleFindings,
  workspace: Workspace,
  { gitDir, file, links }: { gitDir: string; file: ChainFile; links: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { proof } = findings;
  try {
    await unpackBundle(workspace, gitDir, file, { links });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // Even if git ran out of time or memory, since damaged bytes can be the cause.
    await checkPackChecksum(findings, file, signal);
    if (!isRejection(error)) throw error;
    const fault = describeRejection(error.message);
    proof.objects = fault.kind === 'CORRUPT_ARCHIVE' ? 'failed' : 'passed';
    if (fault.kind === 'INCOMPLETE_HISTORY') proof.history = 'failed';
    throw fault;
  }
  proof.pack_checksum = 'passed';
  proof.objects = 'passed';
}

/** For a pack that git did not read completely. Throws if its checksum does not match. */
async function checkPackChecksum(
  { proof }: BundleFindings,
  { handle, sizeBytes, header }: ChainFile,
  signal: AbortSignal,
): Promise<void> {
  const { objectFormat, length } = header;
  const trailer = Buffer.alloc(objectFormat === 'sha1' ? 20 : 32);
  const end = sizeBytes - trailer.length;
  await handle.read(trailer, 0, trailer.length, Math.max(end, 0));
  const computed = await hashFile(handle, objectFormat, { start: length, end, signal });
  proof.pack_checksum = computed.equals(trailer) ? 'passed' : 'failed';
  if (proof.pack_checksum === 'failed') {
    throw corrupt('the pack does not match its checksum: it was changed or truncated');
  }
}

/** The first refs that have at most `max` characters as JSON. */
function takeListed(refs: ArchivedRef[], max: number): ArchivedRef[] {
  let characters = 0;
  const isOver = (ref: ArchivedRef) => {
    characters += JSON.stringify(ref).length + 1;
    return characters > max;
  };
  const end = refs.findIndex(isOver);
  return end === -1 ? refs : refs.slice(0, end);
}

/** Refs with their commits. Throws INCOMPLETE_HISTORY if one points to a missing object. */
async function readRefs(
  { git }: Workspace,
  gitDir: string,
  refs: BundleHeader['refs'],
): Promise<ArchivedRef[]> {
  const queries = refs.map(({ id }) => `${id}^{}\n`).join('');
  const args = [`--git-dir=${gitDir}`, 'cat-file', '--batch-check=%(objectname)', '--buffer'];
  const commits = (await git.read(args, { stdin: queries })).split('\n');
  return refs.map(({ name, id }, index) => {
    const commit = commits[index] ?? '';
    if (!/^[0-9a-f]+$/.test(commit)) {
      throw incomplete(`a ref points to the object ${id}, which the bundle does not contain`);
    }
    return { name, commit };
  });
}
