import pLimit from 'p-limit';
import { loadOnce } from '../../async.ts';
import { parseKey } from '../../stores/layout.ts';
import { StoreFault } from '../../stores/object-store.ts';
import { readStates } from '../../stores/reading/find-version.ts';
import { hashObject } from '../../stores/reading/hash-object.ts';
import type { ListedArchive } from '../../stores/reading/list-contents.ts';
import { ObjectFault } from '../../stores/reading/object-fault.ts';
import { openLedger } from '../offsite/ledger.ts';
import type { CommandStore } from './open-for-command.ts';
import type { StoreReport } from './store-report.ts';

/** How many objects are read at once. */
const AT_ONCE = 4;

/** What was checked. */
export interface CheckCounts {
  archives: number;
  states: number;
  objects: number;
  bytes: number;
  /** Objects that no state needs, and their size. */
  unneeded: number;
  unneededBytes: number;
}

/** Checks one archive after the other. `run` throws StoreFault if the store cannot be used. */
export function createArchiveCheck(
  { store, reading }: CommandStore,
  isDeep: boolean,
  report: StoreReport,
): { counts: CheckCounts; run(archive: ListedArchive): Promise<void> } {
  const counts: CheckCounts = {
    ...{ archives: 0, states: 0, objects: 0, bytes: 0 },
    ...{ unneeded: 0, unneededBytes: 0 },
  };
  const ledger = openLedger(store.folder);
  /** The file names of archives that this machine has stored, by their names in keys. */
  const stored = loadOnce(async () => {
    const names = new Map<string, string>();
    for await (const { archive, archive_name } of ledger.list()) names.set(archive_name, archive);
    return names;
  });

  async function run(archive: ListedArchive): Promise<void> {
    const { states, objects, name } = archive;
    counts.archives++;
    counts.states += states.length;
    counts.objects += objects.size;
    for (const { sizeBytes } of objects.values()) counts.bytes += sizeBytes;
    findGaps(archive);
    const isReadable = reading.identities.length > 0 || !states.some((one) => one.isEncrypted);
    if (states.length === 0) {
      report.say(`archives/${name} has no state: its first upload has not ended`);
      addUnneeded(objects.values());
    } else if (isReadable) await compareWithStates(archive);
    else await compareWithLedger(archive);
    if (isDeep) await readAll(archive);
  }

  /** The oldest states may be pruned, but none in between. */
  function findGaps({ states }: ListedArchive): void {
    for (const [index, { number, key }] of states.entries()) {
      const before = states[index - 1]?.number ?? number - 1;
      const [first, last] = [before + 1, number - 1];
      if (first === last) report.fault(`state ${first}, which comes before ${key}, is missing`);
      if (first < last) {
        report.fault(`states ${first} to ${last}, which come before ${key}, are missing`);
      }
    }
  }

  async function compareWithStates({ states, objects }: ListedArchive): Promise<void> {
    const needed = new Map<string, number>();
    let areAllRead = true;
    await readStates(reading, states, {
      found: ({ files }) => {
        for (const { key, stored_bytes } of files) needed.set(key, stored_bytes);
      },
      onFault: (fault) => {
        areAllRead = false;
        report.fault(fault.message);
      },
    });
    for (const [key, size] of needed) await expectSize(objects, key, size);
    // What a state needs that could not be read is not known.
    if (areAllRead) addUnneeded([...objects.values()].filter(({ key }) => !needed.has(key)));
  }

  /** Without an identity: with what this machine knows that it has stored. */
  async function compareWithLedger({ name, objects, states }: ListedArchive): Promise<void> {
    const archive = (await stored()).get(name);
    const entry = archive === undefined ? null : await ledger.read(archive);
    if (entry === null) {
      report.fault(`archives/${name} is encrypted and not of this machine: give --identity`);
      return;
    }
    for (const { key, stored_bytes } of entry.files) await expectSize(objects, key, stored_bytes);
    if (entry.state === null) return;
    const byKey = new Map(states.map((state) => [state.key, state]));
    await expectSize(byKey, entry.state.key, entry.state.stored_bytes);
  }

  async function expectSize(
    listed: ReadonlyMap<string, { sizeBytes: number }>,
    key: string,
    size: number,
  ): Promise<void> {
    let found = listed.get(key)?.sizeBytes;
    if (found === undefined) {
      // It may have come since the listing.
      for await (const object of store.objects.list(key)) {
        if (object.key === key) found = object.sizeBytes;
        break;
      }
    }
    if (found === undefined) report.fault(`${key} is missing`);
    else if (found !== size) report.fault(`${key} has ${found} of the ${size} bytes it must have`);
  }

  async function readAll({ objects }: ListedArchive): Promise<void> {
    await pLimit(AT_ONCE).map([...objects.keys()], async (key) => {
      const parsed = parseKey(key);
      if (parsed?.kind !== 'object') return;
      try {
        const sha256 = await hashObject(reading, key);
        if (sha256 === parsed.sha256) return;
        report.fault(`${key} has other content than was stored: its SHA-256 is ${sha256}`);
      } catch (error) {
        const isOfObject =
          error instanceof ObjectFault ||
          (error instanceof StoreFault && (error.kind === 'denied' || error.kind === 'other'));
        if (!isOfObject) throw error;
        report.fault(`${key} cannot be read: ${error.message}`);
      }
    });
  }

  function addUnneeded(objects: Iterable<{ sizeBytes: number }>): void {
    for (const { sizeBytes } of objects) {
      counts.unneeded++;
      counts.unneededBytes += sizeBytes;
    }
  }

  return { counts, run };
}
