import { counted, formatBytes } from '../../text/units.ts';
import type { RepositoryFigures } from './figures.ts';
import type { LfsFiles } from './lfs.ts';

/** What HEAD has but the archive lacks; null if nothing. lib/records/repositories/would-lose.ts splits the text. */
export function describeMissing({
  lfs,
  submodules,
}: Pick<RepositoryFigures, 'lfs' | 'submodules'>): string | null {
  const parts = [describeFiles(lfs), describeSubmodules(submodules ?? 0)];
  return parts.filter((part) => part !== null).join('; ') || null;
}

function describeFiles(files: LfsFiles | null): string | null {
  if (files === null || files.count === 0) return null;
  const are = files.count === 1 ? 'is' : 'are';
  return `Git LFS: ${counted(files.count, 'file')} of HEAD, ${formatBytes(files.bytes)}, ${are} not in the archive, only the pointers`;
}

function describeSubmodules(count: number): string | null {
  if (count === 0) return null;
  return `Submodules: ${counted(count, 'is', 'are')} not in the archive, only the commits that are named`;
}
