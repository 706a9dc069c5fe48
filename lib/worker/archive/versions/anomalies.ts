import type { Git } from '../../../git/git.ts';
import type { NewAnomaly } from '../../../records/anomalies/kinds.ts';
import { newAnomaly } from '../../../records/anomalies/new-anomaly.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { counted } from '../../../text/units.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { Refs } from '../../mirror/refs.ts';
import type { RepositoryFigures } from '../figures.ts';
import { isRewritten, type Overwritten } from './overwritten.ts';

const BRANCHES = 'refs/heads/';
const TAGS = 'refs/tags/';
const SHORT_ID = 12;
/** Below this number, refs come and go every day. */
const FEW_REFS = 4;

/** The refs of a version, and the branch of its HEAD. */
interface Snapshot {
  refs: Refs;
  headBranch: string | null;
}

/**
 * The anomalies that a person should review, and the worst of them in words for the archive's note; null if there are
 * none.
 */
interface RefAnomalies {
  anomalies: NewAnomaly[];
  warning: string | null;
}

/**
 * Compares the refs of a version with the source's current refs. A branch that was deleted or moved while the source
 * still reaches its commits, as after a merge, is ordinary. Throws GitError.
 */
export async function findRefAnomalies(
  git: Git,
  mirror: Mirror,
  before: Snapshot,
  now: Snapshot,
  { lost }: Overwritten,
): Promise<RefAnomalies> {
  const main = await describeMainChange(git, mirror, before, now.refs);
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
  const mostGone = lostMostRefs(had, has) ? `most refs are gone: ${had} became ${has}` : null;
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

/** Describes an anomaly for a person, such as `2 branches were deleted, with commits found nowhere else: topic, …`. */
function describe({ kind, changeCount, before, after }: NewAnomaly): string {
  const names = Object.keys(before).map((name) => name.replace(/^refs\/(?:heads|tags)\//, ''));
  const listed = cleanText(`${names[0]}${changeCount > 1 ? ', …' : ''}`, 300);
  const count = (one: string, many: string) => counted(changeCount, `${one} was`, `${many} were`);
  switch (kind) {
    case 'branches_rewritten':
      return `${count('branch', 'branches')} rewritten: ${listed}`;
    case 'branches_deleted':
      return `${count('branch', 'branches')} deleted, with commits found nowhere else: ${listed}`;
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

/**
 * Describes a change of the default branch that a person should review, with its values before and after; null if there
 * is none. Throws GitError.
 */
async function describeMainChange(
  git: Git,
  mirror: Mirror,
  before: Snapshot,
  now: Refs,
): Promise<string | null> {
  const { headBranch } = before;
  const main = headBranch === null ? undefined : before.refs.get(headBranch);
  if (headBranch !== null && main !== undefined) {
    const branch = headBranch.slice(BRANCHES.length);
    const after = now.get(headBranch);
    const was = main.slice(0, SHORT_ID);
    if (after === undefined) return `the default branch ${branch} was deleted; it was at ${was}`;
    if (after !== main && (await isRewritten(git, mirror, main, after))) {
      return `the history of ${branch} was rewritten: ${was} became ${after.slice(0, SHORT_ID)}`;
    }
  }
  return null;
}

/** Whether so many refs are gone that a person should review it. */
function lostMostRefs(had: number, has: number): boolean {
  return had >= FEW_REFS && has * 2 < had;
}

/** A figure that shrank to half or less. */
interface Shrunk {
  text: string;
  what: string;
  before: number;
  after: number;
}

/**
 * Compares the contents of a repository before and now; null if the difference is ordinary. Uncounted figures are not
 * compared.
 */
export function findShrunk(before: RepositoryFigures, now: RepositoryFigures): Shrunk | null {
  const isCounted = (what: 'commits' | 'files') =>
    !before.uncounted.includes(what) && !now.uncounted.includes(what);
  if (isCounted('commits') && now.total_commits * 2 <= before.total_commits) {
    const [had, has] = [before.total_commits, now.total_commits];
    const text = `the repository shrank: ${had} commits became ${has}`;
    return { text, what: 'commits', before: had, after: has };
  }
  const [had, has] = [before.total_blob_size_bytes, now.total_blob_size_bytes];
  if (isCounted('files') && has * 2 <= had && had > 0) {
    const text = `the files of HEAD shrank: ${had} bytes became ${has}`;
    return { text, what: 'bytes of files', before: had, after: has };
  }
  return null;
}
