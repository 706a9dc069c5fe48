import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { corrupt } from '../../archives/base/archive-fault.ts';
import { archiveKey } from '../../archives/base/archive-name.ts';
import { digestRefs } from '../../archives/base/manifest.ts';
import { DrillIncomplete, proveRestorable } from '../../drills/prove-restored.ts';
import type { Log } from '../../log/log.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import {
  type DrillEvidence,
  FOLDER_STORAGE,
  type NewDrill,
} from '../../records/drills/new-drill.ts';
import type { VersionHashes } from '../../records/drills/record.ts';
import { listRestorableVersions } from '../../restore/list-archives.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { version } from '../../version.ts';
import { readArchiveOnDisk } from '../archive/archive.ts';
import type { WorkerOptions } from '../base/command-context.ts';
import type { Display } from '../base/display.ts';
import type { AvailableArchive } from '../restore/archive-source.ts';
import { UnfitObject } from '../restore/store-faults.ts';
import { type DrillFault, describeFault } from './drill-fault.ts';
import type { DrillPlace } from './drill-place.ts';

/** What the drills of a session share. */
export interface DrillContext {
  options: Pick<WorkerOptions, 'environment' | 'clock'>;
  log: Log;
  display: Display;
  gitVersion: string;
  /** Where scratch folders are created. */
  folder: string;
  /** What the database has recorded about a version; null if nothing, or if it is unreachable. */
  findRecorded(repository: string, version: number): Promise<VersionHashes | null>;
}

/** What to drill, and from where. */
export interface DrillRequest {
  repository: string;
  place: DrillPlace;
  /** Whether the repository is known to be stored there. */
  isStored: boolean;
  /** The newest version that is recorded as stored there; null if none is. */
  storedVersion: number | null;
  signal: AbortSignal;
}

/** The result of a drill. */
export interface EndedDrill {
  drill: NewDrill;
  /** Null if it was proven. */
  fault: DrillFault | null;
}

/**
 * Restores a repository from a place into a scratch folder, and reports what that proves. An archive counts as damaged
 * only if a second try agrees, because a run may have replaced its files during the first. Throws the signal's reason,
 * unless it makes the drill incomplete.
 */
export async function performDrill(
  context: DrillContext,
  request: DrillRequest,
): Promise<EndedDrill> {
  const { clock } = context.options;
  const began = clock.now();
  let ended = await tryOnce(context, request);
  if (ended.fault?.outcome === 'failed') {
    const again = await tryOnce(context, request);
    if (again.fault === null) ended = again;
  }
  const { found } = ended;
  const fault = await unlessUnmounted(request, ended.fault);
  const isUnstored = fault?.isMissing === true && !request.isStored;
  const outcome = isUnstored ? 'incomplete' : (fault?.outcome ?? 'proven');
  const missing = fault?.isMissing === true && !isUnstored ? { missing: true } : {};
  return {
    fault,
    drill: {
      repository: request.repository,
      version: found.version,
      storage: request.place.storage,
      startedAt: new Date(began).toISOString(),
      durationMs: Math.max(0, Math.round(clock.now() - began)),
      bytes: found.bytes,
      outcome,
      reason: isUnstored ? 'it is not stored there yet' : (fault?.reason ?? null),
      evidence: { version, git_version: context.gitVersion, ...found.evidence, ...missing },
    },
  };
}

/** A store that was not mounted when it was drilled is unreachable: nothing was proved or disproved. */
async function unlessUnmounted(
  { place, isStored }: DrillRequest,
  fault: DrillFault | null,
): Promise<DrillFault | null> {
  const isGone = fault?.isMissing === true && isStored;
  if (!isGone || !(await place.source.looksUnmounted())) return fault;
  const reason = `${place.storage} is an empty folder: is its disk mounted?`;
  const incomplete = { outcome: 'incomplete', isMissing: false } as const;
  return { ...incomplete, reason, isOfStore: true, isStoreGone: true };
}

/** Runs read their sources often; what one found longer ago may no longer be so. */
const MAX_EMPTY_AGE_MS = 7 * 86_400_000;

/**
 * Proves that there is nothing to restore: a run has read the source and found no refs, and the archive folder has no
 * archive of the repository. Null if there is an archive to restore after all.
 */
export async function proveEmpty(
  { options: { clock }, gitVersion }: DrillContext,
  { repository, foundEmptyAt, archiveFolder }: EmptyRequest,
): Promise<NewDrill | null> {
  const began = clock.now();
  if ((await readArchiveOnDisk(archiveFolder, archiveKey(repository))).files.length > 0)
    return null;
  const isRecent = began - Date.parse(foundEmptyAt) <= MAX_EMPTY_AGE_MS;
  const found_empty_at = new Date(foundEmptyAt).toISOString();
  return {
    ...{ repository, version: null, storage: FOLDER_STORAGE, bytes: 0 },
    startedAt: new Date(began).toISOString(),
    durationMs: Math.max(0, Math.round(clock.now() - began)),
    outcome: isRecent ? 'proven' : 'incomplete',
    reason: isRecent
      ? null
      : `its source was empty at ${formatMinute(found_empty_at)}, and no run has read it since: start one`,
    evidence: {
      ...{ version, git_version: gitVersion },
      ...(isRecent ? { empty: true, refs: 0, refs_sha256: digestRefs(new Map()) } : {}),
      found_empty_at,
    },
  };
}

/** A repository that has no archive because its source was empty. */
export interface EmptyRequest {
  repository: string;
  /** ISO 8601. */
  foundEmptyAt: string;
  archiveFolder: string;
}

interface Found {
  version: number | null;
  bytes: number;
  evidence: Partial<DrillEvidence>;
}

async function tryOnce(
  { options, log, display, folder, findRecorded }: DrillContext,
  { repository, place, storedVersion, signal }: DrillRequest,
): Promise<{ fault: DrillFault | null; found: Found }> {
  const found: Found = { version: null, bytes: 0, evidence: {} };
  const scratch = await makeScratch(folder);
  const target = join(scratch, 'restored');
  const prove = async (archives: AvailableArchive) => {
    found.version = await versionOf(archives);
    // A store that lost its newest state, or was rolled back, would have an older version proven instead.
    if (storedVersion !== null && found.version !== null && found.version < storedVersion) {
      throw await explainLoss(place, repository, storedVersion);
    }
    await proveRestorable({
      ...options,
      ...{ archives, scratch, signal },
      findRecorded: (number) => findRecorded(repository, number),
      onFile: (done, total) => display.progress(done, total, `${repository}: unpacking`),
      onFound({ version: number, sizeBytes }, evidence) {
        found.version = number;
        found.bytes = sizeBytes;
        Object.assign(found.evidence, evidence);
      },
    });
  };
  try {
    await place.source.use({ repository, choice: 'newest', target }, prove);
    return { fault: null, found };
  } catch (error) {
    if (error instanceof UnfitObject) found.version ??= error.version;
    const fault = describeFault(signal.aborted ? signal.reason : error);
    if (fault !== null) return { fault, found };
    if (signal.aborted) throw signal.reason;
    log.error('a restore drill ended unexpectedly', { repository, error });
    const reason = "it ended unexpectedly: see the worker's output";
    return {
      found,
      fault: {
        ...{ outcome: 'incomplete', reason },
        ...{ isMissing: false, isOfStore: false, isStoreGone: false },
      },
    };
  } finally {
    display.clear();
    await rm(target, { recursive: true, force: true });
    await removeScratch(scratch);
  }
}

/** Why a version that was stored in a place is not found there. It is not lost if only its key is missing here. */
async function explainLoss(
  { source }: DrillPlace,
  repository: string,
  version: number,
): Promise<Error> {
  const leftOut = await source.findLeftOut(repository, version);
  if (leftOut === 'locked') return new UnfitObject('locked', `version ${version} is locked`);
  if (leftOut === null) {
    return corrupt(`version ${version} was stored there, but is no longer there`);
  }
  return new DrillIncomplete(
    `version ${version} is stored there unencrypted, so --identity leaves it out: drill it without --identity`,
  );
}

/** The version that would be restored; null if the note cannot be read, because restoring it reports why. */
async function versionOf({
  root,
  repository,
  choice,
  findRecord,
}: AvailableArchive): Promise<number | null> {
  if (choice !== 'newest' && 'version' in choice) return choice.version;
  try {
    return (
      (await listRestorableVersions(root, repository, findRecord)).versions.at(-1)?.version ?? null
    );
  } catch {
    return null;
  }
}
