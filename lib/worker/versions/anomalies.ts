import type { Git } from '../../git/git.ts';
import type { NewAnomaly } from '../../records/anomalies/kinds.ts';
import { newAnomaly } from '../../records/anomalies/new-anomaly.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { Refs } from '../mirror/refs.ts';
import type { Overwritten } from './overwritten.ts';
import { areMostGone, type Shrunk, warnOfMain } from './warnings.ts';

const BRANCHES = 'refs/heads/';
const TAGS = 'refs/tags/';

/** The refs of a version, and the branch of its HEAD. */
interface Snapshot {
  refs: Refs;
  headBranch: string | null;
}

/** What a person should look at, and the worst of it in words for the archive's note; null if there is nothing. */
export interface RefAnomalies {
  anomalies: NewAnomaly[];
  warning: string | null;
}

/**
 * Compares the refs of a version with those that the source has now. A branch that was deleted or moved while the
 * source still reaches what it had, as after a merge, is ordinary. Throws GitError.
 */
export async function findRefAnomalies(
  git: Git,
  mirror: Mirror,
  before: Snapshot,
  now: Snapshot,
  { lost }: Overwritten,
): Promise<RefAnomalies> {
  const main = await warnOfMain(git, mirror, before, now.refs);
  const moved = [...before.refs].filter(([name, id]) => now.refs.get(name) !== id);
  const isMain = (name: string) => main !== null && name === before.headBranch;
  const branches = moved.filter(
    ([name]) => name.startsWith(BRANCHES) && (lost.has(name) || isMain(name)),
  );
  const tags = moved.filter(([name]) => name.startsWith(TAGS));
  const anomalies: NewAnomaly[] = [];
  for (const [kind, refs] of [
    ['branches', branches],
    ['tags', tags],
  ] as const) {
    const changes = refs.map(([name, id]) => [name, id, now.refs.get(name) ?? null] as const);
    const rewritten = changes.filter(([, , after]) => after !== null);
    const deleted = changes.filter(([, , after]) => after === null);
    if (rewritten.length > 0) anomalies.push(newAnomaly(`${kind}_rewritten`, rewritten));
    if (deleted.length > 0) anomalies.push(newAnomaly(`${kind}_deleted`, deleted));
  }
  const [had, has] = [before.refs.size, now.refs.size];
  const mostGone = areMostGone(had, has) ? `most refs are gone: ${had} became ${has}` : null;
  if (mostGone !== null) anomalies.push(newAnomaly('refs_gone', [['refs', `${had}`, `${has}`]]));
  const [wasHead, isHead] = [before.headBranch, now.headBranch];
  if (wasHead !== null && isHead !== null && wasHead !== isHead) {
    anomalies.push(newAnomaly('default_branch', [['HEAD', wasHead, isHead]]));
  }
  const [first] = anomalies;
  return { anomalies, warning: main ?? mostGone ?? (first ? describe(first) : null) };
}

/** The anomaly of a repository that shrank. */
export function shrunkAnomaly({ what, before, after }: Shrunk): NewAnomaly {
  return newAnomaly('shrunk', [[what, `${before}`, `${after}`]]);
}

/** For a person, such as `2 branches were deleted, with what no other has: topic, …`. */
function describe({ kind, changeCount, before, after }: NewAnomaly): string {
  const names = Object.keys(before).map((name) => name.replace(/^refs\/(?:heads|tags)\//, ''));
  const listed = cleanText(`${names[0]}${changeCount > 1 ? ', …' : ''}`, 300);
  const count = (one: string, many: string) =>
    changeCount === 1 ? `1 ${one} was` : `${changeCount} ${many} were`;
  switch (kind) {
    case 'branches_rewritten':
      return `${count('branch', 'branches')} rewritten: ${listed}`;
    case 'branches_deleted':
      return `${count('branch', 'branches')} deleted, with what no other has: ${listed}`;
    case 'tags_rewritten':
      return `${count('tag', 'tags')} moved: ${listed}`;
    case 'tags_deleted':
      return `${count('tag', 'tags')} deleted: ${listed}`;
    default: {
      const values = (of: Record<string, string>) => Object.values(of).join(', ');
      return cleanText(
        `the default branch changed: ${values(before)} became ${values(after)}`,
        600,
      );
    }
  }
}
