import { GitError } from '../../git/git.ts';
import type { Progress } from '../../git/progress.ts';
import { counted, firstOf } from '../../text/units.ts';
import type { ArchiveOnDisk } from '../archive/archive.ts';
import { readRecordedVersions } from '../archive/manifests.ts';
import type { Place } from '../archive/publish.ts';
import { explainTransfer, transferChecked } from '../mirror/fetch.ts';
import { requireWhole } from '../mirror/incomplete-source.ts';
import { type Mirror, mirrorPath } from '../mirror/mirror.ts';
import {
  dropManySourceRefs,
  dropSourceHead,
  fetchSource,
  MANY_REFS,
  packRefs,
  readSourceRefs,
} from '../mirror/mirror-refs.ts';
import {
  findMissed,
  type Refs,
  type RemoteRefs,
  readRemoteRefs,
  sameRefs,
} from '../mirror/refs.ts';
import { type Backup, begin, remark } from './backup.ts';
import { cloneSource } from './clone.ts';
import {
  describeLost,
  isMirrorDamage,
  noRefs,
  type PreparedMirror,
  prepareMirror,
  rebuildMirror,
} from './prepare-mirror.ts';

/** How often a source whose refs keep moving is fetched. */
const MAX_ROUNDS = 3;

/** What an update works with after the source was fetched. */
export interface Fetched extends PreparedMirror {
  refs: Refs;
  headBranch: string | null;
}

/** How far an update has got, which decides what a failure means. */
export interface Stage {
  /** Whether git is working on the mirror alone rather than on the source. */
  isLocal: boolean;
  isPublished: boolean;
}

/** Creates the mirror of a source that has neither a mirror nor an archive. Null if the source has no refs. */
export async function cloneFirst(
  options: Backup,
  { folder: archiveFolder, key }: Place,
  before: ArchiveOnDisk,
): Promise<Fetched | null> {
  const { git, mirrorFolder: folder } = options;
  const gitDir = mirrorPath(folder, key);
  await begin(options, 'cloning');
  const { result, defect } = await transferChecked(showProgress(options), (from, transfer) =>
    cloneSource(git, { gitDir, folder }, from, transfer),
  );
  const advertised = await readAdvertised(options);
  await requireWhole(options.source);
  if (result === null) {
    if (advertised.refs.size === 0) return null;
    throw new GitError('the repository was empty while it was being cloned, and no longer is');
  }
  if (defect !== null) await remark(options, 'warn', describeDefect(defect));
  // A clone is not told the branch of HEAD if that does not exist.
  const headBranch = result.refs.has('HEAD') ? result.headBranch : advertised.headBranch;
  const cloned = sameRefs(result.refs, advertised.refs)
    ? { ...result, headBranch }
    : { ...result, ...(await fetchAdvertised(options, result.mirror, advertised)) };
  const { versions } = await readRecordedVersions(archiveFolder, key, before, null);
  const lost = versions.length === 0 ? null : describeLost(versions.length);
  const none = { ...before, record: null };
  return {
    ...cloned,
    ...{ before: none, archived: noRefs, archivedBranch: null, isUsable: true, lost },
  };
}

/** Shows git's own progress. */
function showProgress(options: Backup) {
  const onProgress = (doing: Progress) => void options.tell({ type: 'working', doing });
  return { ...options, onProgress };
}

const readAdvertised = async (options: Backup) =>
  readRemoteRefs(options, await options.credential());

/**
 * Fetches what a source advertises, and returns the refs of the mirror. Throws GitError unless each of them is as the
 * source advertises it: git refuses to update some refs, such as those of a shallow source, and still succeeds.
 */
async function fetchAdvertised(
  options: Backup,
  mirror: Mirror,
  advertised: RemoteRefs,
): Promise<RemoteRefs> {
  const { git, source } = options;
  let before = advertised;
  for (let round = 1; ; round++) {
    const withHead = before.refs.has('HEAD');
    let remarks = '';
    const { defect } = await transferChecked(showProgress(options), (from, transfer) =>
      fetchSource(
        git,
        mirror,
        { ...from, withHead },
        {
          ...transfer,
          onRemarks(text) {
            remarks = text;
          },
        },
      ),
    );
    if (defect !== null) await remark(options, 'warn', describeDefect(defect));
    if (before.refs.size > MANY_REFS) await packRefs(git, mirror);
    if (!withHead) await dropSourceHead(git, mirror);
    const refs = await readSourceRefs(git, mirror);
    if (sameRefs(refs, before.refs)) return { refs, headBranch: before.headBranch };
    const after = await readAdvertised(options);
    const missed = findMissed(refs, before.refs, after.refs);
    if (missed.length === 0) return { refs, headBranch: after.headBranch };
    // Refs that have moved twice during the fetch are fetched again.
    if (round === MAX_ROUNDS || sameRefs(before.refs, after.refs)) {
      throw explainTransfer(describeMissed(missed, remarks), source);
    }
    before = after;
  }
}

function describeMissed(missed: readonly string[], remarks: string): GitError {
  const said = remarks === '' ? '' : `; git said: ${remarks}`;
  const what = counted(missed.length, 'ref');
  return new GitError(
    `git ended without an error, but did not fetch ${what} as the source has them: ${firstOf(missed)}${said}`,
  );
}

const describeDefect = (defect: string) => `archived despite a defect in the source: ${defect}`;

/** Imports the archive into the mirror, and fetches what is new. */
export async function fetchUpdate(
  options: Backup,
  place: Place,
  before: ArchiveOnDisk,
  { remote, stage }: { remote: RemoteRefs; stage: Stage },
): Promise<Fetched> {
  const { git, mirrorFolder } = options;
  const [anyId = ''] = remote.refs.values();
  const gitDir = mirrorPath(mirrorFolder, place.key);
  const fetch = async (mirror: Mirror) => {
    stage.isLocal = false;
    const fetched = await fetchAdvertised(options, mirror, remote);
    stage.isLocal = true;
    return fetched;
  };

  let prepared = await prepareMirror(options, place, before, { gitDir, anyId });
  await begin(options, 'cloning');
  const deleted = [...prepared.archived.refs.keys()].filter(
    (name) => name !== 'HEAD' && !remote.refs.has(name),
  );
  await dropManySourceRefs(git, prepared.mirror, deleted);
  let fetched: RemoteRefs;
  try {
    fetched = await fetch(prepared.mirror);
  } catch (error) {
    if (!(error instanceof GitError && isMirrorDamage(error.message))) throw error;
    await remark(options, 'warn', `the mirror was damaged and is being rebuilt: ${error.message}`);
    const mirror = await rebuildMirror(options, gitDir, anyId, prepared.before);
    if (mirror === null) throw error;
    prepared = { ...prepared, mirror };
    fetched = await fetch(mirror);
  }
  const { refs, headBranch } = fetched;
  if (refs.size === 0) throw new GitError('the repository was emptied while it was being read');
  return {
    ...prepared,
    isUsable: prepared.isUsable && !options.isDamaged,
    refs,
    // HEAD may have moved to another branch since it was read.
    headBranch:
      headBranch !== null && refs.get(headBranch) === refs.get('HEAD') ? headBranch : null,
  };
}
