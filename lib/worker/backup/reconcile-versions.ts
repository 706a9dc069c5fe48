import { digestRefs } from '../../archives/base/manifest.ts';
import type { VersionEntry } from '../../archives/base/note.ts';
import type { RepoState } from '../../records/recording/repo-state.ts';
import { listRestorable, notedAnomaly } from '../../records/recording/versions.ts';
import { readArchiveOnDisk } from '../archive/archive.ts';
import { findManifest, isOutdated } from '../archive/manifests.ts';
import type { Journal } from '../record/journal.ts';

/** How many versions one log line names. */
const MAX_LISTED = 20;

interface Archive {
  repository: string;
  key: string;
}

/**
 * Makes the recorded versions of an archive match its note. They differ when a worker was killed between changing the
 * archive and recording the change, or when an archive was moved away. Does nothing if there is no archive, or if the
 * records cannot be read.
 */
export async function reconcileVersions(
  { journal, archiveFolder }: { journal: Journal; archiveFolder: string },
  archive: Archive,
  { newestVersion, restorableVersions, newestRestorable, confirmed }: RepoState,
): Promise<void> {
  if (newestVersion === undefined) return;
  const { versions } = await readArchiveOnDisk(archiveFolder, archive.key);
  // A note that was lost or replaced says nothing: the backup repairs the archive, or says what it lost.
  if (versions.length === 0 || isOutdated(versions, newestRestorable ?? null)) return;
  const newest = newestVersion ?? 0;
  for (const entry of versions) {
    if (entry.version > newest) await recordVersion(journal, archiveFolder, archive, entry);
  }
  const recorded = versions.filter(({ version }) => version <= newest);
  for (const { version, warning } of recorded) {
    // Otherwise it could not be confirmed.
    if (warning === null || confirmed?.has(version) !== false) continue;
    const { repository } = archive;
    const anomaly = notedAnomaly(warning);
    await journal.tell({ type: 'anomaly', repository, version, anomaly });
  }
  if (recorded.length !== restorableVersions) await recordGone(journal, archive, recorded);
}

/** Records that versions no longer exist in an archive. */
async function recordGone(
  { store, tell, note }: Journal,
  { repository }: Archive,
  versions: readonly VersionEntry[],
): Promise<void> {
  const there = new Set(versions.map(({ version }) => version));
  const restorable = await store.read(
    (db) => listRestorable(db, repository),
    () => [],
  );
  const gone = restorable.map(({ version }) => version).filter((version) => !there.has(version));
  if (gone.length === 0) return;
  await tell({ type: 'pruned', repository, versions: gone });
  const listed = gone.slice(0, MAX_LISTED).join(', ') + (gone.length > MAX_LISTED ? ' …' : '');
  await note('warn', `versions that are no longer in the archive: ${listed}`, repository);
}

async function recordVersion(
  { tell }: Journal,
  archiveFolder: string,
  { repository, key }: Archive,
  entry: VersionEntry,
): Promise<void> {
  const manifest = await findManifest(archiveFolder, key, entry);
  // It is detected and reported when the archive is reread.
  if (manifest === null) return;
  const refs = new Map(Object.entries(manifest.refs));
  const sizes = manifest.files.map(({ size_bytes }) => size_bytes);
  await tell({
    type: 'version',
    repository,
    facts: {
      version: entry.version,
      previousManifestSha256: null,
      at: entry.at,
      headBranch: manifest.head_branch,
      refs,
      refsSha256: digestRefs(refs),
      manifestSha256: entry.manifest_sha256,
      archiveKey: key,
      files: entry.files,
      sizeBytes: sizes.reduce((total, size) => total + size, 0),
      newBytes: sizes.at(-1) ?? 0,
      warning: entry.warning,
      anomalies: [],
      changes: refs,
    },
  });
}
