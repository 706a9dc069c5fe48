import { digestRefs } from '../../archives/base/manifest.ts';
import { MAX_VERSIONS, type VersionEntry } from '../../archives/base/note.ts';
import { GitError } from '../../git/git.ts';
import { counted, firstOf } from '../../text/units.ts';
import {
  type ArchiveOnDisk,
  type ArchiveRecord,
  findBadFile,
  withTimes,
} from '../archive/archive.ts';
import { measureClone } from '../archive/figures.ts';
import { describeLacks, findLacks } from '../archive/lacks.ts';
import { type Place, settleNote } from '../archive/publish.ts';
import { findRefAnomalies, findShrunk, shrunkAnomaly } from '../archive/versions/anomalies.ts';
import { nameVersions } from '../archive/versions/describe-version.ts';
import { findOverwritten, keepLost } from '../archive/versions/overwritten.ts';
import { findKept, PruningHeld, PruningRefused, pruneVersions } from '../archive/versions/prune.ts';
import { writeVersion } from '../archive/versions/write-version.ts';
import { joinPacks } from '../mirror/mirror.ts';
import { setKeptRefs, sourceRevisions } from '../mirror/mirror-refs.ts';
import { type Refs, sameRefs } from '../mirror/refs.ts';
import { type Backup, begin, remark } from './backup.ts';
import type { Fetched } from './fetch-source.ts';

/** Writes what was fetched as a version, or records the existing archive again. */
export async function writeUpdate(
  options: Backup,
  place: Place,
  fetched: Fetched,
): Promise<ArchiveRecord> {
  const { before, archived, archivedBranch, refs, headBranch, lost } = fetched;
  const isKnown = before.record !== null || before.versions.length > 0;
  const isSame =
    isKnown &&
    before.files.length > 0 &&
    headBranch === archivedBranch &&
    sameRefs(refs, archived.refs);
  // Files that the note does not describe exactly are read before they are appended to or recorded again.
  const mustRead = before.files.length > 0 && (isSame || !before.isSettled);
  const isUsable =
    fetched.isUsable && (!mustRead || (await findBadFile(place.folder, before.files)) === null);
  if (fetched.isUsable && !isUsable && before.record !== null) {
    const text = 'a file of the archive is not the one that was recorded: it is being rewritten';
    await remark(options, 'error', text);
  }
  const record =
    isSame && isUsable
      ? await confirmArchive(options, place, before, refs)
      : await writeFetched(options, place, { ...fetched, isUsable }, isSame);
  if (lost !== null) options.madeAnew(`a new archive was made, because ${lost}`);
  return record;
}

/** Re-records an archive that already has the refs of the source, and whose files were just read. */
async function confirmArchive(
  { source, now, tell }: Backup,
  place: Place,
  { record, files, versions }: ArchiveOnDisk,
  refs: Refs,
): Promise<ArchiveRecord> {
  const [bundle] = files;
  if (record === null || bundle === undefined || bundle.sha256 === null) {
    throw new Error('an archive without a note was confirmed');
  }
  const confirmed: ArchiveRecord = {
    ...(await withTimes(place.folder, place.key, record)),
    archive_sha256: bundle.sha256,
    archive_size_bytes: bundle.sizeBytes,
    versions: [...versions],
    repository: source.name,
    address: record.address ?? source.location,
    host: source.host?.url ?? null,
    refs_sha256: digestRefs(refs),
    checked_at: new Date(now()).toISOString(),
  };
  await settleNote(place, confirmed);
  await tell({ type: 'archive', key: place.key, sha256: confirmed.archive_sha256 });
  return confirmed;
}

/** Writes what was fetched as a new version, or rewrites the newest version if only its files are bad. */
async function writeFetched(
  options: Backup,
  place: Place,
  fetched: Fetched,
  isSame: boolean,
): Promise<ArchiveRecord> {
  const { git, source, tell } = options;
  const { mirror, before, archived, archivedBranch, refs } = fetched;
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
  const had = { refs: archived.refs, headBranch: archivedBranch };
  const now = { refs, headBranch: fetched.headBranch };
  const { anomalies, warning } = await findRefAnomalies(git, mirror, had, now, overwritten);
  await options.checkClock();
  await begin(options, 'writing the archive');
  const contents = { ...fetched, place, versions, kept, isSame, warning, anomalies };
  const { record, facts } = await writeVersion(options, contents);
  await tell({ type: 'archive', key: place.key, sha256: record.archive_sha256 });
  if (facts !== null) await tell({ type: 'version', facts });
  if (warning !== null)
    await remark(
      options,
      'warn',
      `${warning}; what was there is kept in version ${previous?.version}`,
    );
  if (overwritten.deleted.length > 0) {
    await remark(
      options,
      'info',
      `deleted at the source, kept here: ${firstOf(overwritten.deleted)}`,
    );
  }
  await begin(options, 'counting');
  const figures = await measureClone(
    git,
    mirror.gitDir,
    refs,
    options.figureLimits,
    sourceRevisions,
  );
  const measured = { ...record, figures, incomplete: describeLacks(findLacks(figures)) };
  const shrunk =
    before.record !== null && facts !== null ? findShrunk(before.record.figures, figures) : null;
  const settled =
    shrunk === null || warning !== null ? measured : withWarning(measured, shrunk.text);
  await settleNote(place, settled);
  if (shrunk !== null && facts !== null) {
    const all = [...facts.anomalies, shrunkAnomaly(shrunk)];
    const shrunkFacts = { ...facts, warning: warning ?? shrunk.text, anomalies: all };
    await tell({ type: 'version', facts: shrunkFacts });
    await remark(
      options,
      'warn',
      `${shrunk.text}; what was there is kept in version ${previous?.version}`,
    );
  }
  return finish(options, place, fetched, settled);
}

/** The kept refs of an archive, except those that only pruned versions needed. */
async function withoutPruned(
  { git }: Backup,
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
  options: Backup,
  place: Place,
  { mirror, refs }: Fetched,
  record: ArchiveRecord,
): Promise<ArchiveRecord> {
  const { git, tell } = options;
  try {
    const pruned = await pruneVersions(options, { mirror, place, record, refs });
    if (pruned.versions.length > 0) {
      await tell({ type: 'pruned', versions: pruned.versions.map(({ version }) => version) });
      const count = counted(pruned.versions.length, 'version');
      await remark(options, 'info', `${count} no longer kept, as BACKUP_KEEP says`);
    }
    await joinPacks(git, mirror);
    return pruned.record;
  } catch (error) {
    if (error instanceof PruningHeld || error instanceof PruningRefused) {
      const level = error instanceof PruningHeld ? 'warn' : 'error';
      await remark(options, level, `no version is pruned: ${error.message}`);
      return record;
    }
    if (!(error instanceof GitError) || error.fault === 'missing') throw error;
    await remark(options, 'warn', `housekeeping failed: ${error.message}`);
    return record;
  }
}

function withWarning(record: ArchiveRecord, warning: string): ArchiveRecord {
  const versions = record.versions.map((entry, index) =>
    index === record.versions.length - 1 ? { ...entry, warning } : entry,
  );
  return { ...record, versions };
}
