import pLimit from 'p-limit';
import { loadOnce } from '../../../async.ts';
import { parseKey } from '../../../stores/base/layout.ts';
import type { StoredObject } from '../../../stores/base/object-store.ts';
import { readStates, versionsOf } from '../../../stores/reading/find-version.ts';
import { hashDecrypted, hashObject } from '../../../stores/reading/hash-object.ts';
import type { ArchiveInStore } from '../../../stores/reading/list-contents.ts';
import { isRefusal, ObjectFault } from '../../../stores/reading/object-fault.ts';
import type { ReadState } from '../../../stores/reading/read-state.ts';
import { counted } from '../../../text/units.ts';
import { openLedger } from '../ledger.ts';
import type { CommandStore } from './open-for-command.ts';
import type { StoreReport } from './store-report.ts';

/** How many objects are read concurrently. */
const AT_ONCE = 4;

/** Counts of what was checked. */
export interface CheckCounts {
  archives: number;
  states: number;
  objects: number;
  bytes: number;
  /** Objects that no state needs, and their total size. */
  unneeded: number;
  unneededBytes: number;
}

/** Checks the archives of a store. */
export interface StoredArchiveCheck {
  counts: CheckCounts;
  run(archive: ArchiveInStore): Promise<void>;
  /** To be called after all archives: reports archives that this machine stored and that no longer exist. */
  findLost(): Promise<void>;
}

/** What the states of an archive need. */
interface Needs {
  /** The SHA-256 of files according to the states, by the keys of their objects. */
  contents: ReadonlyMap<string, ReadonlySet<string>>;
  isNeeded(key: string): boolean;
}

/** Checks one archive after another. `run` throws StoreFault if the store cannot be used. */
export function createArchiveCheck(
  { store, reading }: CommandStore,
  isDeep: boolean,
  report: StoreReport,
): StoredArchiveCheck {
  const counts: CheckCounts = {
    ...{ archives: 0, states: 0, objects: 0, bytes: 0 },
    ...{ unneeded: 0, unneededBytes: 0 },
  };
  const ledger = openLedger(store.folder);
  /** The file names of archives that this machine stored, by their names in keys. */
  const stored = loadOnce(async () => {
    const names = new Map<string, string>();
    for await (const { archive, archive_name } of ledger.list()) names.set(archive_name, archive);
    return names;
  });

  const seen = new Set<string>();

  async function run(archive: ArchiveInStore): Promise<void> {
    const { states, objects, name } = archive;
    seen.add(name);
    counts.archives++;
    counts.states += states.length;
    counts.objects += objects.size;
    for (const { sizeBytes } of objects.values()) counts.bytes += sizeBytes;
    findGaps(archive);
    await findOwn(archive);
    const isReadable = reading.identities.length > 0 || !states.some((one) => one.isEncrypted);
    if (states.length === 0) {
      report.fault(
        `archives/${name} has ${counted(objects.size, 'object')} and no state, so that nothing of it can be restored: either its first upload has not finished, and the next run continues it, or its states were lost`,
      );
      addUnneeded(objects.values());
    }
    let needs: Needs = { contents: new Map(), isNeeded: () => true };
    if (states.length > 0 && isReadable) needs = await compareWithStates(archive);
    else if (states.length > 0) needs = await compareWithLedger(archive);
    if (isDeep) await readAll(archive, needs);
  }

  /** The oldest states may have been pruned, but none in between. */
  function findGaps({ states }: ArchiveInStore): void {
    for (const [index, { number, key }] of states.entries()) {
      const before = states[index - 1]?.number ?? number - 1;
      const [first, last] = [before + 1, number - 1];
      if (first === last) report.fault(`state ${first}, which comes before ${key}, is missing`);
      if (first < last) {
        report.fault(`states ${first} to ${last}, which come before ${key}, are missing`);
      }
    }
  }

  /** The last state that this machine stored may have been pruned, but only if there is a newer one. */
  async function findOwn({ name, states }: ArchiveInStore): Promise<void> {
    const archive = (await stored()).get(name);
    const own = archive === undefined ? null : ((await ledger.read(archive))?.state ?? null);
    if (own === null) return;
    if ((states.at(-1)?.number ?? 0) < own.number) {
      report.fault(`${own.key}, which this machine stored, is missing`);
      return;
    }
    const found = isDeep ? states.find(({ key }) => key === own.key) : undefined;
    if (found !== undefined && own.stored_sha256 !== null) {
      await expectContent(found, own.stored_sha256);
    }
  }

  async function findLost(): Promise<void> {
    for (const [name, archive] of await stored()) {
      if (seen.has(name) || (await ledger.read(archive))?.state === null) continue;
      report.fault(`archives/${name}, which this machine stored, is missing`);
    }
  }

  async function compareWithStates({ states, objects }: ArchiveInStore): Promise<Needs> {
    const needed = new Map<string, Set<number>>();
    const contents = new Map<string, Set<string>>();
    let areAllRead = true;
    let latest = null as ReadState | null;
    let last = null as ReadState | null;
    await readStates(reading, states, {
      found: (state) => {
        for (const { key, stored_bytes, sha256 } of state.files) {
          needed.set(key, (needed.get(key) ?? new Set()).add(stored_bytes));
          contents.set(key, (contents.get(key) ?? new Set()).add(sha256));
        }
        if (latest === null || isLater(state, latest)) latest = state;
        if (state.ref.number === states.at(-1)?.number) last = state;
      },
      onFault: (fault) => {
        areAllRead = false;
        report.fault(fault.message);
      },
    });
    for (const [key, sizes] of needed) {
      for (const size of sizes) await expectSize(objects, key, size);
    }
    if (latest !== null && last !== null) expectNewest(latest, last);
    // What an unreadable state needs is unknown.
    if (areAllRead) addUnneeded([...objects.values()].filter(({ key }) => !needed.has(key)));
    return { contents, isNeeded: (key) => !areAllRead || needed.has(key) };
  }

  /**
   * A restore takes the newest state. It can precede another state's version only if somebody put it there; the newest
   * state of another worker, which has versions of its own, may be a little older.
   */
  function expectNewest(latest: ReadState, last: ReadState): void {
    const version = last.parsedNote.versions.at(-1)?.manifest_sha256;
    const isBefore = latest.parsedNote.versions
      .slice(0, -1)
      .some(({ manifest_sha256 }) => manifest_sha256 === version);
    if (latest.ref.number === last.ref.number || !isBefore) return;
    const [key, other] = [last.ref.key, latest.ref.key];
    report.fault(`${key} is the newest state, but ${other} has a newer version`);
  }

  /** Without an identity: compares with what this machine stored. */
  async function compareWithLedger({ name, objects, states }: ArchiveInStore): Promise<Needs> {
    const archive = (await stored()).get(name);
    const entry = archive === undefined ? null : await ledger.read(archive);
    if (entry === null) {
      report.fault(
        `archives/${name} is encrypted and was not stored by this machine: give --identity`,
      );
      return { contents: new Map(), isNeeded: () => true };
    }
    const needs = { contents: new Map(), isNeeded: (key: string) => !entry.replaced.includes(key) };
    for (const { key, stored_bytes } of entry.files) await expectSize(objects, key, stored_bytes);
    if (entry.state === null) return needs;
    const byKey = new Map(states.map((state) => [state.key, state]));
    await expectSize(byKey, entry.state.key, entry.state.stored_bytes);
    return needs;
  }

  async function expectSize(
    listed: ReadonlyMap<string, { sizeBytes: number }>,
    key: string,
    size: number,
  ): Promise<void> {
    let found = listed.get(key)?.sizeBytes;
    if (found === undefined) {
      // It may have been added since the listing.
      for await (const object of store.objects.list(key)) {
        if (object.key === key) found = object.sizeBytes;
        break;
      }
    }
    if (found === undefined) report.fault(`${key} is missing`);
    else if (found !== size) report.fault(`${key} has ${found} of the ${size} bytes it must have`);
  }

  async function readAll({ objects }: ArchiveInStore, needs: Needs): Promise<void> {
    await pLimit(AT_ONCE).map([...objects.values()], async (object) => {
      const parsed = parseKey(object.key);
      if (parsed?.kind !== 'object') return;
      const wanted = parsed.isEncrypted ? needs.contents.get(object.key) : undefined;
      const files = reading.identities.length > 0 ? wanted : undefined;
      if (needs.isNeeded(object.key)) {
        await expectContent(object, parsed.sha256, files);
      } else if (!(await isWhole(object, parsed.sha256))) {
        report.say(`${object.key} is damaged, but no state needs it: \`store prune\` removes it`);
      }
    });
  }

  async function isWhole(object: StoredObject, expected: string): Promise<boolean> {
    try {
      return (await hashObject(reading, object)) === expected;
    } catch (error) {
      if (!(error instanceof ObjectFault) && !isRefusal(error)) throw error;
      return false;
    }
  }

  /** `files` are the SHA-256 of the decrypted content according to the states; undefined if it is not decrypted. */
  async function expectContent(
    object: StoredObject,
    expected: string,
    files?: ReadonlySet<string>,
  ): Promise<void> {
    const { key } = object;
    try {
      const { stored, plain } =
        files === undefined
          ? { stored: await hashObject(reading, object), plain: null }
          : await hashDecrypted(reading, object);
      if (stored !== expected) {
        report.fault(`${key} has other content than was stored: its SHA-256 is ${stored}`);
      } else if (files !== undefined && plain === null) {
        report.fault(`${key} cannot be decrypted with this identity`);
      } else {
        for (const file of files ?? []) {
          if (file === plain) continue;
          report.fault(`${key} holds another file: its SHA-256 is ${plain}, not ${file}`);
        }
      }
    } catch (error) {
      if (!(error instanceof ObjectFault) && !isRefusal(error)) throw error;
      report.fault(`${key} cannot be read: ${error.message}`);
    }
  }

  function addUnneeded(objects: Iterable<{ sizeBytes: number }>): void {
    for (const { sizeBytes } of objects) {
      counts.unneeded++;
      counts.unneededBytes += sizeBytes;
    }
  }

  return { counts, run, findLost };
}

/** Whether one state has a newer version than another; for the same version, whether it is the later state. */
function isLater(one: ReadState, other: ReadState): boolean {
  const madeAt = (state: ReadState) => versionsOf(state).at(-1)?.madeAt ?? 0;
  const difference = madeAt(one) - madeAt(other);
  return difference > 0 || (difference === 0 && one.ref.number > other.ref.number);
}
