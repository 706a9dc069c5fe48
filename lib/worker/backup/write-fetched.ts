import { MAX_VERSIONS, type VersionEntry } from '../../archives/base/note.ts';
import { GitError } from '../../git/git.ts';
import { firstOf } from '../../text/units.ts';
import type { ArchiveRecord } from '../archive/archive.ts';
import { describeMissing } from '../archive/describe-missing.ts';
import { measureClone } from '../archive/figures.ts';
import { type Place, settleNote } from '../archive/publish.ts';
import { findRefAnomalies, findShrunk, shrunkAnomaly } from '../archive/versions/anomalies.ts';
import { nameVersions } from '../archive/versions/describe-version.ts';
import { findOverwritten, keepLost } from '../archive/versions/overwritten.ts';
import { findKept, PruningHeld, PruningRefused, pruneVersions } from '../archive/versions/prune.ts';
import { writeVersion } from '../archive/versions/write-version.ts';
import { joinPacks } from '../mirror/mirror.ts';
import { setKeptRefs, sourceRevisions } from '../mirror/mirror-refs.ts';
import type { Refs } from '../mirror/refs.ts';
import type { Fetched, UpdateOptions } from './fetch-update.ts';

/** Writes what was fetched as a new version, or rewrites the newest version if only its files are bad. */
export async function writeFetched(
  options: UpdateOptions,
  place: Place,
  fetched: Fetched,
  isSame: boolean,
): Promise<ArchiveRecord> {
  const { git, source, onStep, onPublished, onVersion, onRemark } = options;
  const { mirror, before, archived, refs } = fetched;
  const versions = await nameVersions(source, place, before, archived);
  if (versions.length >= MAX_VERSIONS && !isSame) {
    throw new GitError(
      `the archive ${place.key} has ${versions.length} versions, which is the maximum: move it away to start a new one`,
    );
  }
  const previous = versions.at(-1);
  const overwritten = await findOverwritten(git, mirror, archived.refs, refs);
  const kept = new Map(await withoutPruned(options, { ...fetched, place, versions }));
  if (previous !== undefined) {
    for (const [name, id] of keepLost(previous.version, overwritten.lost)) kept.set(name, id);
  }
  // A freshly cloned mirror has none.
  if (kept.size > 0 || before.files.length > 0) await setKeptRefs(git, mirror, kept);
  const headBranch = before.record?.head_branch ?? null;
  const had = { refs: archived.refs, headBranch };
  const now = { refs, headBranch: fetched.headBranch };
  const { anomalies, warning } = await findRefAnomalies(git, mirror, had, now, overwritten);
  await options.checkClock();
  await onStep('writing the archive');
  const contents = { ...fetched, place, versions, kept, isSame, warning, anomalies };
  const { record, facts } = await writeVersion(options, contents);
  await onPublished({ key: place.key, record });
  if (facts !== null) await onVersion(facts);
  if (warning !== null)
    await onRemark('warn', `${warning}; what was there is kept in version ${previous?.version}`);
  if (overwritten.deleted.length > 0) {
    await onRemark('info', `deleted at the source, kept here: ${firstOf(overwritten.deleted)}`);
  }
  await onStep('counting');
  const figures = await measureClone(
    git,
    mirror.gitDir,
    refs,
    options.figureLimits,
    sourceRevisions,
  );
  const counted = { ...record, figures, incomplete: describeMissing(figures) };
  const shrunk =
    before.record !== null && facts !== null ? findShrunk(before.record.figures, figures) : null;
  const settled = shrunk === null || warning !== null ? counted : withWarning(counted, shrunk.text);
  await settleNote(place, settled);
  if (shrunk !== null && facts !== null) {
    const all = [...facts.anomalies, shrunkAnomaly(shrunk)];
    await onVersion({ ...facts, warning: warning ?? shrunk.text, anomalies: all });
    await onRemark(
      'warn',
      `${shrunk.text}; what was there is kept in version ${previous?.version}`,
    );
  }
  return finish(options, place, fetched, settled);
}

/** The kept refs of an archive, except those that only pruned versions needed. */
async function withoutPruned(
  { git }: UpdateOptions,
  {
    mirror,
    place,
    versions,
    archived,
    refs,
  }: Fetched & { place: Place; versions: readonly VersionEntry[] },
): Promise<Refs> {
  const numbers = new Set(versions.map(({ version }) => version));
  const versionOf = (name: string) => Number(/^refs\/kept\/(\d+)/.exec(name)?.[1]);
  if ([...archived.kept.keys()].every((name) => numbers.has(versionOf(name)))) return archived.kept;
  try {
    return await findKept(git, { mirror, place }, versions, refs);
  } catch (error) {
    if (error instanceof PruningRefused) return archived.kept;
    throw error;
  }
}

/** Prunes old versions and tidies the mirror. If either fails, the archive stays as it is. */
async function finish(
  options: UpdateOptions,
  place: Place,
  { mirror, refs }: Fetched,
  record: ArchiveRecord,
): Promise<ArchiveRecord> {
  const { git, onPruned, onRemark } = options;
  try {
    const pruned = await pruneVersions(options, { mirror, place, record, refs });
    if (pruned.versions.length > 0) await onPruned(pruned.versions.map(({ version }) => version));
    await joinPacks(git, mirror);
    return pruned.record;
  } catch (error) {
    if (error instanceof PruningHeld || error instanceof PruningRefused) {
      const level = error instanceof PruningHeld ? 'warn' : 'error';
      await onRemark(level, `no version is pruned: ${error.message}`);
      return record;
    }
    if (!(error instanceof GitError) || error.fault === 'missing') throw error;
    await onRemark('warn', `housekeeping failed: ${error.message}`);
    return record;
  }
}

function withWarning(record: ArchiveRecord, warning: string): ArchiveRecord {
  const versions = record.versions.map((entry, index) =>
    index === record.versions.length - 1 ? { ...entry, warning } : entry,
  );
  return { ...record, versions };
}
