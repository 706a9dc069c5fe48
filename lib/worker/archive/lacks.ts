import type { Lacks } from '../../records/recording/results.ts';
import { counted, formatBytes } from '../../text/units.ts';
import type { RepositoryFigures } from './figures.ts';
import type { LfsFiles } from './lfs.ts';

/** What HEAD has but the archive lacks, each with a text for people; null if nothing. */
export function findLacks({
  lfs,
  submodules,
}: Pick<RepositoryFigures, 'lfs' | 'submodules'>): Lacks | null {
  const lacks: Lacks = {};
  if (lfs !== null && lfs.count > 0) lacks.lfs = describeFiles(lfs);
  if (submodules) lacks.submodules = describeSubmodules(submodules);
  return Object.keys(lacks).length === 0 ? null : lacks;
}

/** What an archive lacks as one line; null if nothing. */
export function describeLacks(lacks: Lacks | null): string | null {
  return lacks === null ? null : Object.values(lacks).join('; ');
}

function describeFiles({ count, bytes }: LfsFiles): string {
  const are = count === 1 ? 'is' : 'are';
  return `Git LFS: ${counted(count, 'file')} of HEAD, ${formatBytes(bytes)}, ${are} not in the archive, only the pointers`;
}

function describeSubmodules(count: number): string {
  return `Submodules: ${counted(count, 'is', 'are')} not in the archive, only the commits that are named`;
}
