import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isSameRepository } from '../../archives/base/archive-name.ts';
import { readConfig } from '../../config/read.ts';
import { storeVariables } from '../../config/stores.ts';
import { AppError } from '../../errors.ts';
import {
  describeStuck,
  makeScratch,
  removeScratch,
  sweepScratch,
} from '../../processes/scratch.ts';
import { checkTarget } from '../../restore/target.ts';
import { archiveNameOf, createSecretNaming, README_KEY } from '../../stores/base/layout.ts';
import { type OpenStore, openStores } from '../../stores/open-stores.ts';
import {
  describeOthers,
  findArchive,
  readNewestStates,
} from '../../stores/reading/find-archives.ts';
import { findStates, type StateRef } from '../../stores/reading/find-states.ts';
import { findVersion, versionsOf } from '../../stores/reading/find-version.ts';
import { readIdentities } from '../../stores/reading/identities.ts';
import { ObjectFault } from '../../stores/reading/object-fault.ts';
import {
  type ReadState,
  readOwner,
  readState,
  type StateReading,
} from '../../stores/reading/read-state.ts';
import { cleanName, cleanText } from '../../text/clean-text.ts';
import { counted } from '../../text/units.ts';
import type { WorkerOptions } from '../base/command-context.ts';
import type { Display } from '../base/display.ts';
import { openGitAccess } from '../offsite/destination/git-store-access.ts';
import type { ArchiveSource } from './archive-source.ts';
import { downloadFolderName, isKept, makeOwnFolder } from './download-folder.ts';
import { downloadVersion } from './download-version.ts';
import type { StoreChoice } from './restore-commands.ts';
import { explainFaults, NotInStore } from './store-faults.ts';

/** A store to restore from. */
export interface StoreSource extends ArchiveSource {
  store: OpenStore;
  reading: StateReading;
  /** The states of a repository. Throws NOT_FOUND. */
  find(repository: string): Promise<StateRef[][]>;
  /**
   * Reads the newest state of each archive, or the newest readable one before it, with the fault. Returns why some
   * archives could not be read at all.
   */
  eachNewest(
    work: (name: string, state: ReadState, fault: ObjectFault | null) => void,
  ): Promise<string[]>;
}

/** Prefix of the names of temporary folders. */
const SCRATCH = 'backup-observatory-restore';

const keyVariables = storeVariables.pick({ BACKUP_NAMES_KEY: true });

/**
 * Opens a store without anything from the machine that filled it. Temporary files go to `folder`; by default to a new
 * temporary folder, and then downloads are not kept. Throws AppError or ConfigError.
 */
export async function openStoreSource(
  options: WorkerOptions,
  { address, identityFile }: StoreChoice,
  display: Display,
  folder: string | null = null,
): Promise<StoreSource> {
  const { environment, clock, signal } = options;
  const { BACKUP_NAMES_KEY: namesKey } = readConfig(keyVariables, environment);
  const identities =
    identityFile === null ? [] : await readIdentities(resolve(options.folder, identityFile));
  /** Whether the caller removes everything. */
  const isTemporary = folder !== null;
  const scratch = folder ?? (await createScratch(clock.now(), display));
  const [store] = await openStores([address], {
    ...{
      environment,
      folder: scratch,
      bytesPerSecond: null,
      clock,
      signal,
      onRemark: display.line,
    },
    git: () => openGitAccess(options, display.line),
  });
  if (store === undefined) throw new Error('no store was opened');
  const reading: StateReading = { objects: store.objects, clock, signal, identities };
  const secretNaming = namesKey === undefined ? null : createSecretNaming(namesKey);
  /** Names in keys by the repository's name in lower case, as far as listings showed them. */
  const known = new Map<string, Set<string>>();

  async function find(repository: string): Promise<StateRef[][]> {
    const names = known.get(repository.toLowerCase());
    if (names !== undefined) {
      const found = [...names].map((name) => findStates(reading.objects, name));
      return trusted(repository, await Promise.all(found));
    }
    if (identities.length > 0 && namesKey === undefined) {
      display.line('BACKUP_NAMES_KEY is not set: the names of all encrypted archives are read');
    }
    const foundStates = await findArchive(reading, repository, secretNaming);
    const { archives, unread } = foundStates;
    if (archives.length > 0) return trusted(repository, archives);
    const locked = identities.length === 0 ? '; give --identity' : ': is it the right identity?';
    const hidden = `; ${counted(unread, 'encrypted archive')} could not be read${locked}`;
    throw new NotInStore(
      `${address.text} has no archive of ${cleanName(repository)}${describeOthers(foundStates)}${unread > 0 ? hidden : ''}`,
      unread > 0,
    );
  }

  /**
   * Of an archive that is stored both encrypted and unencrypted, takes the encrypted states if there is an identity,
   * else the others: anyone with write access can add a newer unencrypted one. After encryption was turned off, restore
   * without the identity.
   */
  function trusted(repository: string, archives: StateRef[][]): StateRef[][] {
    const wantsEncrypted = identities.length > 0;
    const kept = archives
      .map((refs) => refs.filter((ref) => ref.isEncrypted === wantsEncrypted))
      .filter(({ length }) => length > 0);
    if (kept.length === 0 || kept.flat().length === archives.flat().length) return archives;
    const name = cleanText(repository, 300);
    display.line(
      wantsEncrypted
        ? `${name}: unencrypted states are left out, because anybody with write access could have added them; restore those without --identity`
        : `${name}: encrypted states are left out; restore those with --identity`,
    );
    return kept;
  }

  async function findLeftOut(
    repository: string,
    version: number,
  ): Promise<'locked' | 'unencrypted' | null> {
    const wantsEncrypted = identities.length > 0;
    const { archives, unread } = await findArchive(reading, repository, secretNaming);
    const others = archives.flat().filter(({ isEncrypted }) => isEncrypted !== wantsEncrypted);
    if (!wantsEncrypted) {
      // Without the names key, an encrypted archive may belong to any repository.
      const isEncrypted = (ref: StateRef) => ref.isEncrypted;
      const hidden = await readNewestStates(reading, isEncrypted).next();
      return others.length > 0 || (secretNaming === null && hidden.done !== true) ? 'locked' : null;
    }
    if (unread > 0) return 'locked';
    const newest = others.at(-1);
    if (newest === undefined) return null;
    try {
      const last = versionsOf(await readState(reading, newest)).at(-1);
      return (last?.entry?.version ?? 0) >= version ? 'unencrypted' : null;
    } catch (error) {
      // What cannot be read does not prove that the version is there.
      if (error instanceof ObjectFault) return null;
      throw error;
    }
  }

  async function eachNewest(work: Parameters<StoreSource['eachNewest']>[0]): Promise<string[]> {
    const faults: string[] = [];
    let locked = 0;
    for await (const found of readNewestStates(reading)) {
      const { fault } = found;
      const state = found.state ?? found.older;
      if (state !== null) work(await readOwner(reading, state), state, fault);
      else if (fault?.kind === 'locked' && identities.length === 0) locked++;
      else faults.push(cleanText(fault?.message ?? ''));
    }
    const what = counted(locked, 'archive is', 'archives are');
    if (locked > 0) faults.push(`${what} encrypted: give --identity to read them`);
    return faults;
  }

  async function looksUnmounted(): Promise<boolean> {
    if (address.kind !== 'folder') return false;
    for await (const { key } of reading.objects.list('')) {
      if (key === README_KEY || archiveNameOf(key) !== null) return false;
    }
    return true;
  }

  const reportFault = (fault: ObjectFault) => display.line(`left out: ${cleanText(fault.message)}`);

  return {
    ...{ store, reading },
    find: (repository) => explainFaults(() => find(repository)),
    eachNewest: (work) => explainFaults(() => eachNewest(work)),
    findLeftOut: (repository, version) => explainFaults(() => findLeftOut(repository, version)),
    looksUnmounted: () => explainFaults(looksUnmounted),
    list: () =>
      explainFaults(async () => {
        const repositories: string[] = [];
        const faults = await eachNewest((name, { ref }) => {
          const names = known.get(name.toLowerCase());
          if (names === undefined) repositories.push(name);
          known.set(name.toLowerCase(), (names ?? new Set()).add(ref.archiveName));
        });
        return { repositories: repositories.sort(), faults };
      }),
    use: ({ repository, choice, target }, restore) =>
      explainFaults(async () => {
        await checkTarget(target);
        const version = await findVersion(reading, await find(repository), choice, reportFault);
        const owner = await readOwner(reading, version.state);
        if (!isSameRepository(owner, repository)) {
          const { key } = version.state.ref;
          throw new AppError('CONFLICT', `${key} is of ${cleanName(owner)}`);
        }
        const folder = join(dirname(target), downloadFolderName(store.id, version.state, target));
        await makeOwnFolder(folder);
        try {
          await downloadVersion({ reading, address: address.text, display }, version, folder);
          const { entry, state } = version;
          const result = await restore({
            root: folder,
            repository: owner,
            findRecord: async (one) =>
              isSameRepository(one, owner)
                ? { archive_key: state.archive, archive_sha256: '' }
                : null,
            choice: entry === null ? 'newest' : { version: entry.version },
          });
          await rm(folder, { recursive: true, force: true });
          return result;
        } catch (error) {
          if (!isTemporary && (await isKept(folder))) {
            display.clear();
            display.line(
              `the download so far is kept in ${folder}: repeat the command to resume it`,
            );
          }
          throw error;
        }
      }),
    async close() {
      await reading.objects.close?.();
      if (!isTemporary) await removeScratch(scratch);
    },
  };
}

/** Creates a folder for temporary files, and removes those left by killed processes. */
async function createScratch(now: number, display: Display): Promise<string> {
  const stuck = await sweepScratch(tmpdir(), now, SCRATCH);
  if (stuck !== null) display.line(describeStuck(stuck));
  return makeScratch(tmpdir(), SCRATCH);
}
