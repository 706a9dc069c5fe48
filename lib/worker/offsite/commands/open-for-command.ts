import { join, resolve } from 'node:path';
import * as z from 'zod';
import { databaseVariables } from '../../../config/database.ts';
import { readConfig } from '../../../config/read.ts';
import type { StoreAddress } from '../../../config/stores/store-address.ts';
import { storeVariables } from '../../../config/stores.ts';
import { AppError } from '../../../errors.ts';
import { createSecretNaming } from '../../../stores/base/layout.ts';
import { StoreFault } from '../../../stores/base/object-store.ts';
import { type OpenStore, openStores } from '../../../stores/open-stores.ts';
import { describeOthers, findArchive } from '../../../stores/reading/find-archives.ts';
import { readIdentities } from '../../../stores/reading/identities.ts';
import { listContents } from '../../../stores/reading/list-contents.ts';
import type { StateReading } from '../../../stores/reading/read-state.ts';
import { cleanText } from '../../../text/clean-text.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import { openGitAccess } from '../destination/git-store-access.ts';
import { createStoreReport, type StoreReport } from './store-report.ts';

const variables = z.object({
  ...storeVariables.pick({ BACKUP_STORES: true, BACKUP_NAMES_KEY: true }).shape,
  DATA_DIR: databaseVariables.shape.DATA_DIR,
});

/** A store that a command works on. */
export interface CommandStore {
  store: OpenStore;
  reading: StateReading;
  /** The names in keys of a repository's archives. Throws NOT_FOUND. */
  namesOf(repository: string): Promise<string[]>;
  /** The contents for a repository, or for all if null. Throws NOT_FOUND. */
  list(repository: string | null): ReturnType<typeof listContents>;
}

/**
 * Works on each of the given stores (null for those of BACKUP_STORES), and returns the exit code: 1 if something is
 * wrong. Throws AppError or ConfigError.
 */
export async function withEachStore(
  options: WorkerOptions,
  given: readonly StoreAddress[] | null,
  identityFile: string | null,
  work: (store: CommandStore, report: StoreReport) => Promise<void>,
): Promise<number> {
  let faults = 0;
  for (const store of await openForCommand(options, given, identityFile)) {
    const report = createStoreReport(options.io.stdout, store.store.address.text);
    try {
      await work(store, report);
    } catch (error) {
      const isMissing = error instanceof AppError && error.code === 'NOT_FOUND';
      if (!isMissing && !(error instanceof StoreFault)) throw error;
      // Continue with the other stores.
      report.fault(error.message);
    } finally {
      await store.store.objects.close?.();
    }
    faults += report.faults();
  }
  return faults === 0 ? 0 : 1;
}

/** Opens stores; null for those of BACKUP_STORES. Throws AppError or ConfigError. */
export async function openForCommand(
  options: WorkerOptions,
  given: readonly StoreAddress[] | null,
  identityFile: string | null,
): Promise<CommandStore[]> {
  const { environment, clock, signal } = options;
  const config = readConfig(variables, environment);
  const addresses = given ?? config.BACKUP_STORES;
  if (addresses.length === 0) {
    throw new AppError('BAD_REQUEST', 'no store is named: give --store, or set BACKUP_STORES');
  }
  const identities =
    identityFile === null ? [] : await readIdentities(resolve(options.folder, identityFile));
  const namesKey = config.BACKUP_NAMES_KEY;
  const naming = namesKey === undefined ? null : createSecretNaming(namesKey);
  const folder = join(resolve(config.DATA_DIR), 'stores');
  const onRemark = (text: string) => void options.io.stderr.write(`${text}\n`);
  const stores = await openStores(addresses, {
    ...{ environment, folder, bytesPerSecond: null, clock, signal, onRemark },
    git: () => openGitAccess(options, onRemark),
  });
  return stores.map((store) => {
    const reading = { objects: store.objects, clock, signal, identities };
    const namesOf = async (repository: string) => {
      const foundStates = await findArchive(reading, repository, naming);
      const { archives } = foundStates;
      const names = archives.flatMap(([first]) => first?.archiveName ?? []);
      if (names.length > 0) return names;
      const hint =
        naming === null && identities.length === 0
          ? '; if it is encrypted, set BACKUP_NAMES_KEY or give --identity'
          : '';
      const shown = cleanText(repository, 300);
      throw new AppError(
        'NOT_FOUND',
        `${store.address.text} has no archive of ${shown}${describeOthers(foundStates)}${hint}`,
      );
    };
    const list = async function* (repository: string | null) {
      const names = repository === null ? [null] : await namesOf(repository);
      for (const name of names) yield* listContents(store.objects, name);
    };
    return { store, reading, namesOf, list };
  });
}
