import { GitError } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import type { ArchiveState } from '../archive/archive.ts';
import type { Place } from '../archive/publish.ts';
import type { RepositoryBackup } from '../repository/repository-backup.ts';
import { readRecordedVersions } from '../versions/manifests.ts';
import { cloneSource } from './clone.ts';
import { transferChecked } from './fetch.ts';
import { type Mirror, mirrorPath } from './mirror.ts';
import {
  dropManySourceRefs,
  dropSourceHead,
  fetchSource,
  MANY_REFS,
  packRefs,
  readSourceRefs,
} from './mirror-refs.ts';
import {
  describeLost,
  isMirrorDamage,
  noRefs,
  type PreparedMirror,
  prepareMirror,
  rebuildMirror,
} from './prepare-mirror.ts';
import type { Refs, RemoteRefs } from './refs.ts';

/** A backup, and how git gets credentials for its source. */
export type UpdateOptions = RepositoryBackup & { credential(): Promise<GitCredential | null> };

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
  options: UpdateOptions,
  { folder: archiveFolder, key }: Place,
  before: ArchiveState,
): Promise<Fetched | null> {
  const { git, mirrorFolder: folder, onStep, onRemark } = options;
  const gitDir = mirrorPath(folder, key);
  await onStep('cloning');
  const { result, defect } = await transferChecked(options, (from, transfer) =>
    cloneSource(git, { gitDir, folder }, from, transfer),
  );
  if (result === null) return null;
  if (defect !== null) await onRemark('warn', describeDefect(defect));
  const { versions } = await readRecordedVersions(archiveFolder, key, before);
  const lost = versions.length === 0 ? null : describeLost(versions.length);
  const none = { ...before, record: null };
  return { ...result, before: none, archived: noRefs, isUsable: true, lost };
}

const describeDefect = (defect: string) => `archived despite a defect in the source: ${defect}`;

/** Imports the archive into the mirror, and fetches what is new. */
export async function fetchUpdate(
  options: UpdateOptions,
  place: Place,
  before: ArchiveState,
  { remote, stage }: { remote: RemoteRefs; stage: Stage },
): Promise<Fetched> {
  const { git, mirrorFolder, onStep, onRemark } = options;
  const [anyId = ''] = remote.refs.values();
  const gitDir = mirrorPath(mirrorFolder, place.key);
  const withHead = remote.refs.has('HEAD');
  const fetch = async (mirror: Mirror) => {
    stage.isLocal = false;
    const { defect } = await transferChecked(options, (from, transfer) =>
      fetchSource(git, mirror, { ...from, withHead }, transfer),
    );
    stage.isLocal = true;
    if (remote.refs.size > MANY_REFS) await packRefs(git, mirror);
    return defect;
  };

  let prepared = await prepareMirror(options, place, before, { gitDir, anyId });
  await onStep('cloning');
  const deleted = [...prepared.archived.refs.keys()].filter(
    (name) => name !== 'HEAD' && !remote.refs.has(name),
  );
  await dropManySourceRefs(git, prepared.mirror, deleted);
  let defect: string | null;
  try {
    defect = await fetch(prepared.mirror);
  } catch (error) {
    if (!(error instanceof GitError && isMirrorDamage(error.message))) throw error;
    await onRemark('warn', `the mirror was damaged and is being rebuilt: ${error.message}`);
    const mirror = await rebuildMirror(options, gitDir, anyId, prepared.before);
    if (mirror === null) throw error;
    prepared = { ...prepared, mirror };
    defect = await fetch(mirror);
  }
  if (defect !== null) await onRemark('warn', describeDefect(defect));
  const { mirror } = prepared;
  if (!withHead) await dropSourceHead(git, mirror);
  const refs = await readSourceRefs(git, mirror);
  if (refs.size === 0) throw new GitError('the repository was emptied while it was being read');
  const { headBranch } = remote;
  return {
    ...prepared,
    isUsable: prepared.isUsable && !options.isDamaged,
    refs,
    // HEAD may have moved to another branch since it was read.
    headBranch:
      headBranch !== null && refs.get(headBranch) === refs.get('HEAD') ? headBranch : null,
  };
}
