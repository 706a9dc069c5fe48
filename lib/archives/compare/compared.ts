import { AppError } from '../../errors.ts';
import type { OpenArchive } from '../base/open-archive.ts';
import { type ReadVersion, readVersion, tipOf } from '../chain/find-tip.ts';
import type { Chain } from '../chain/read-chain.ts';
import type { Objects } from '../contents/list-tree.ts';

/** Which versions to compare. */
export interface CompareRequest {
  /** The number of the earlier version; the one before `to` by default. */
  from?: number | undefined;
  /** The number of the later version; the newest by default. */
  to?: number | undefined;
  /** The branch or tag whose files are compared; the default branch of each version by default. */
  ref?: string | undefined;
}

/** Two versions to compare. */
export interface ComparedVersions {
  /** Null if nothing was kept before `to`. */
  from: ReadVersion | null;
  to: ReadVersion;
  ref: string | undefined;
}

/** Reads what refs the versions had. Throws NOT_FOUND if there is no such version, and ArchiveFault. */
export async function readCompared(
  archive: OpenArchive,
  chain: Chain,
  { from, to: wanted, ref }: CompareRequest,
): Promise<ComparedVersions> {
  const to = await readVersion(archive, chain, wanted);
  const versions = archive.noted?.versions ?? [];
  const before = versions.findLast(({ version }) => version < (to.version ?? 0))?.version;
  const earlier = from ?? before;
  const compared = {
    from: earlier === undefined ? null : await readVersion(archive, chain, earlier),
    to,
    ref,
  };
  if (ref !== undefined && !hasRef(compared.from, ref) && !hasRef(to, ref)) tipOf(to.refs, ref);
  return compared;
}

/** The id of a version's tree; that of an empty one without a version, or if it lacks the branch or any commit. */
export async function treeOf(
  { git, gitDir }: Objects,
  version: ReadVersion | null,
  ref: string | undefined,
): Promise<string> {
  const tip = version === null ? null : findTip(version, ref);
  if (tip !== null) {
    const args = [`--git-dir=${gitDir}`, 'rev-parse', '--verify', '--end-of-options'];
    return (await git.read([...args, `${tip}^{tree}`])).trim();
  }
  const args = [`--git-dir=${gitDir}`, 'hash-object', '-t', 'tree', '--stdin'];
  return (await git.read(args, { stdin: '' })).trim();
}

function hasRef(version: ReadVersion | null, ref: string): boolean {
  return version !== null && findTip(version, ref) !== null;
}

function findTip({ refs }: ReadVersion, ref: string | undefined): string | null {
  try {
    return tipOf(refs, ref);
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}
