import pLimit from 'p-limit';
import type { VersionEntry } from '../../archives/base/note.ts';
import type { VersionChoice } from '../../archives/chain/choose-version.ts';
import { AppError } from '../../errors.ts';
import type { StateRef } from './find-states.ts';
import { ObjectFault, withObject } from './object-fault.ts';
import { type ReadState, readState, type StateReading } from './read-state.ts';

/** How many states are read concurrently. */
const AT_ONCE = 6;

/** A version in a store. */
export interface StoredVersion {
  /** The newest state that contains it. */
  state: ReadState;
  /** Null for an archive from an earlier release, which is a single version. */
  entry: VersionEntry | null;
  /** When it was made, in milliseconds since the epoch. */
  madeAt: number;
}

/** The versions of a state, oldest first. At least one. */
export function versionsOf(state: ReadState): StoredVersion[] {
  const { versions, archive_modified_ms } = state.parsedNote;
  if (versions.length === 0) {
    return [{ state, entry: null, madeAt: archive_modified_ms ?? Date.parse(state.at) }];
  }
  return versions.map((entry) => ({ state, entry, madeAt: Date.parse(entry.at) }));
}

/**
 * Reads the states of an archive, newest first, and calls `found` with each. Unreadable states are passed to `onFault`
 * and skipped. Throws StoreFault.
 */
export async function readStates(
  reading: StateReading,
  refs: readonly StateRef[],
  { found, onFault }: { found(state: ReadState): void; onFault(fault: ObjectFault): void },
): Promise<void> {
  const limit = pLimit(AT_ONCE);
  const newestFirst = refs.toReversed();
  await reading.objects.prepare?.(newestFirst.map(({ key }) => key));
  await limit.map(newestFirst, async (ref) => {
    try {
      found(await withObject(ref.key, () => readState(reading, ref)));
    } catch (error) {
      if (!(error instanceof ObjectFault)) throw error;
      onFault(error);
    }
  });
}

/**
 * Finds a version of a repository. `archives` lists the states of each of its archives. For the newest version, only
 * the newest states are read; for any other, all are, because the newest may have pruned it. Throws NOT_FOUND, CONFLICT
 * if several versions have the number, ObjectFault if the newest state cannot be read, or StoreFault.
 */
export async function findVersion(
  reading: StateReading,
  archives: readonly (readonly StateRef[])[],
  choice: VersionChoice,
  onFault: (fault: ObjectFault) => void,
): Promise<StoredVersion> {
  if (choice === 'newest') return findNewest(reading, archives);
  return findOther(reading, archives, choice, onFault);
}

async function findOther(
  reading: StateReading,
  archives: readonly (readonly StateRef[])[],
  choice: Exclude<VersionChoice, 'newest'>,
  onFault: (fault: ObjectFault) => void,
): Promise<StoredVersion> {
  const best = new Map<string, StoredVersion>();
  const isNumber = 'version' in choice;
  let oldest = Number.POSITIVE_INFINITY;
  for (const refs of archives) {
    await readStates(reading, refs, { found: consider, onFault });
  }
  const [found, ...others] = [...best.values()].sort((one, other) => one.madeAt - other.madeAt);
  if (found === undefined) throw notFound();
  if (others.length === 0) return found;
  const times = [found, ...others].map(({ madeAt }) => new Date(madeAt).toISOString());
  throw new AppError(
    'CONFLICT',
    `the store has ${times.length} versions with this number, as happens when backups start over: of ${times.join(', ')}; choose one with --at`,
  );

  function consider(state: ReadState): void {
    for (const version of versionsOf(state)) {
      oldest = Math.min(oldest, version.madeAt);
      if (!isChosen(version)) continue;
      // Versions with the same manifest are the same. For a choice by time, only the last one counts.
      const id = isNumber ? (version.entry?.manifest_sha256 ?? '') : '';
      const other = best.get(id);
      if (other === undefined || isBetter(version, other)) best.set(id, version);
    }
  }

  function isChosen({ entry, madeAt }: StoredVersion): boolean {
    return 'version' in choice ? entry?.version === choice.version : madeAt <= choice.before;
  }

  function notFound(): AppError {
    if ('version' in choice) {
      return new AppError(
        'NOT_FOUND',
        `the store has no version ${choice.version} of this repository`,
      );
    }
    const since = Number.isFinite(oldest)
      ? `: its oldest is of ${new Date(oldest).toISOString()}`
      : '';
    return new AppError('NOT_FOUND', `the store has no version that old${since}`);
  }
}

async function findNewest(
  reading: StateReading,
  archives: readonly (readonly StateRef[])[],
): Promise<StoredVersion> {
  const newest: StoredVersion[] = [];
  for (const refs of archives) {
    const ref = refs.at(-1);
    if (ref === undefined) continue;
    const state = await withObject(ref.key, () => readState(reading, ref));
    const last = versionsOf(state).at(-1);
    if (last !== undefined) newest.push(last);
  }
  const [found] = newest.sort((one, other) => other.madeAt - one.madeAt);
  if (found === undefined)
    throw new AppError('NOT_FOUND', 'the store has no version of this repository');
  return found;
}

/**
 * Whether one is later than the other; for the same time, whether its state is later, because its objects are not
 * pruned.
 */
function isBetter(one: StoredVersion, other: StoredVersion): boolean {
  if (one.madeAt !== other.madeAt) return one.madeAt > other.madeAt;
  const [a, b] = [one.state, other.state];
  if (a.ref.archiveName === b.ref.archiveName) return a.ref.number > b.ref.number;
  return Date.parse(a.at) > Date.parse(b.at);
}
