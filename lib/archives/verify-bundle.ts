import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from '../git/git.ts';
import { ArchiveFault, corrupt, incomplete } from './archive-fault.ts';
import { readBundleHeader } from './bundle-header.ts';
import { hashFile } from './file-hash.ts';
import { isRejection, type Workspace, type Workspaces } from './git-workspace.ts';
import type { ArchiveLimits } from './limits.ts';
import type { OpenArchive } from './open-archive.ts';
import type { ArchivedRef, Proof } from './results.ts';
import { type Bundle, makeRepository, unpackBundle, whyNotUnpacked } from './unpack-bundle.ts';

/** The results of verifying an archive, except its checksum. */
export interface Findings {
  proof: Omit<Proof, 'checksum'>;
  /** Null if the archive is intact. */
  fault: ArchiveFault | null;
  refs: ArchivedRef[];
  /** Whether there are more refs than listed. */
  truncated: boolean;
}

export interface BundleChecks {
  workspaces: Workspaces;
  limits: ArchiveLimits;
  signal: AbortSignal;
}

/**
 * Verifies a bundle: its header, also with `git bundle verify` (which accepts a damaged pack and a shallow
 * history); then the pack, by unpacking it with git and checking all objects and the links between them; then
 * that its refs point to objects of the pack. Throws only errors that are not caused by the bundle.
 */
export function verifyBundle(archive: OpenArchive, checks: BundleChecks): Promise<Findings> {
  return collectFindings('not_checked', (findings) => runChecks(findings, archive, checks));
}

/** Runs checks of an archive until one fails. Throws only errors that are not caused by the archive. */
export async function collectFindings(
  undecided: 'not_checked' | 'not_applicable',
  check: (findings: Findings) => Promise<void>,
): Promise<Findings> {
  const findings: Findings = {
    proof: {
      header: 'failed',
      pack_checksum: undecided,
      objects: undecided,
      history: undecided,
    },
    fault: null,
    refs: [],
    truncated: false,
  };
  try {
    await check(findings);
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    findings.fault = error;
  }
  return findings;
}

async function runChecks(findings: Findings, archive: OpenArchive, checks: BundleChecks) {
  const { workspaces, limits, signal } = checks;
  const { proof } = findings;
  const bundle = { archive, limits, header: await readBundleHeader(archive.handle) };
  const known = whyNotComplete(bundle);
  if (known !== null) {
    proof.header = 'passed';
    await checkPackChecksum(findings, bundle, signal);
    // A bundle that is merely too large may have a complete history.
    if (whyNotUnpacked(bundle) === null) proof.history = 'failed';
    throw incomplete(known);
  }
  await workspaces.use(signal, async (workspace) => {
    const gitDir = await makeRepository(workspace, bundle);
    await checkHeader(workspace, gitDir, bundle);
    proof.header = 'passed';
    await checkPack(findings, workspace, gitDir, bundle, signal);
    proof.history = 'failed';
    const refs = await readRefs(workspace, gitDir, bundle);
    proof.history = 'passed';
    findings.refs = takeListed(refs, limits.listedCharacters);
    findings.truncated = refs.length > findings.refs.length;
  });
}

/** Why the history is incomplete according to the header, or cannot be checked; null if neither. */
function whyNotComplete(bundle: Bundle): string | null {
  const { prerequisites, filter } = bundle.header;
  if (prerequisites.length > 0) {
    return `the bundle is incremental: it needs commits that it does not contain, the first ${prerequisites[0]}`;
  }
  if (filter !== null) return 'the bundle was created with a filter that excluded objects';
  const why = whyNotUnpacked(bundle);
  if (why === null) return null;
  return `the bundle was not unpacked because ${why}, so neither its objects nor its history were verified; this is not a sign of damage`;
}

async function checkHeader(
  { git, folder }: Workspace,
  gitDir: string,
  { archive, header }: Bundle,
): Promise<void> {
  // A copy of the header, which is all that git reads here: by now, the archive's name may belong to another
  // file.
  const copy = join(folder, 'header.bundle');
  const { buffer } = await archive.handle.read(Buffer.alloc(header.length), 0, header.length, 0);
  await writeFile(copy, buffer);
  try {
    await git.read([`--git-dir=${gitDir}`, 'bundle', 'verify', '--quiet', copy]);
  } catch (error) {
    if (isRejection(error)) throw corrupt(`git bundle verify failed: ${error.message}`);
    throw error;
  }
}

async function checkPack(
  findings: Findings,
  workspace: Workspace,
  gitDir: string,
  bundle: Bundle,
  signal: AbortSignal,
): Promise<void> {
  const { proof } = findings;
  try {
    await unpackBundle(workspace, gitDir, bundle, { links: true });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // Even if git ran out of time or memory, since damaged bytes can be the cause.
    await checkPackChecksum(findings, bundle, signal);
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
  { proof }: Findings,
  { archive, header }: Bundle,
  signal: AbortSignal,
): Promise<void> {
  const { objectFormat, length } = header;
  const trailer = Buffer.alloc(objectFormat === 'sha1' ? 20 : 32);
  const end = archive.sizeBytes - trailer.length;
  await archive.handle.read(trailer, 0, trailer.length, Math.max(end, 0));
  const computed = await hashFile(archive.handle, objectFormat, { start: length, end, signal });
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

function describeRejection(message: string): ArchiveFault {
  // A link to a missing object, or a delta against one.
  const missing = /did not receive expected object ([0-9a-f]+)/.exec(message);
  if (missing)
    return incomplete(`the bundle does not contain the object ${missing[1]}, which it needs`);
  if (/unresolved deltas?/.test(message)) {
    return incomplete('the bundle contains deltas against objects that it does not contain');
  }
  return corrupt(`git could not read the pack: ${message}`);
}

/** The bundle's refs with their commits. Throws INCOMPLETE_HISTORY if one points to a missing object. */
async function readRefs(
  { git }: Workspace,
  gitDir: string,
  { header }: Bundle,
): Promise<ArchivedRef[]> {
  const queries = header.refs.map(({ id }) => `${id}^{}\n`).join('');
  const args = [`--git-dir=${gitDir}`, 'cat-file', '--batch-check=%(objectname)', '--buffer'];
  const commits = (await git.read(args, { stdin: queries })).split('\n');
  return header.refs.map(({ name, id }, index) => {
    const commit = commits[index] ?? '';
    if (!/^[0-9a-f]+$/.test(commit)) {
      throw incomplete(`a ref points to the object ${id}, which the bundle does not contain`);
    }
    return { name, commit };
  });
}
