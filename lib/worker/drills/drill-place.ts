import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FindRecord } from '../../archives/base/archive-owner.ts';
import { type StoreAddress, storeId } from '../../config/stores/store-address.ts';
import type { DueDrill } from '../../records/drills/due.ts';
import { FOLDER_STORAGE } from '../../records/drills/new-drill.ts';
import { isInFilesLayout } from '../../stores/git/session.ts';
import type { WorkerOptions } from '../base/command-context.ts';
import type { Display } from '../base/display.ts';
import { addressOf, type PushTarget } from '../offsite/destination/target.ts';
import { type ArchiveSource, openArchiveFolder } from '../restore/archive-source.ts';
import { openStoreSource } from '../restore/store-source.ts';

/** Where a drill restores from. */
export interface DrillPlace {
  /** Its name in the ledger. */
  storage: string;
  source: ArchiveSource;
}

export interface PlacesOptions {
  options: WorkerOptions;
  archiveFolder: string;
  stores: readonly StoreAddress[];
  target: PushTarget | null;
  layout: 'parts' | 'files' | null;
  /** The file of the age identity that decrypts the stores; null for none. */
  identityFile: string | null;
  display: Display;
  /** For temporary files of the stores. The caller removes it. */
  folder: string;
  /** What the database says about whose an archive is. */
  findRecord: FindRecord;
}

/**
 * Opens the places from which archives would be restored: the stores and the destination in the layout `parts`, or the
 * archive folder if there are none.
 */
export async function openDrillPlaces(places: PlacesOptions): Promise<DrillPlace[]> {
  const { options, archiveFolder, identityFile, display, folder, layout } = places;
  const opened: DrillPlace[] = [];
  const target = places.target === null ? null : addressOf(places.target);
  const isOther = (one: StoreAddress) => target === null || storeId(one) !== storeId(target);
  const addresses = [...places.stores.filter(isOther)];
  if (target !== null && layout !== 'files') addresses.push(target);
  for (const address of addresses) {
    const own = join(folder, storeId(address));
    await mkdir(own, { recursive: true, mode: 0o700 });
    const source = await openStoreSource(options, { address, identityFile }, display, own);
    const mayBeFiles = address === target && layout === null;
    if (mayBeFiles && (await isInFilesLayout(source.store.repository))) await source.close();
    else opened.push({ storage: address.text, source });
  }
  if (opened.length > 0) return opened;
  return [{ storage: FOLDER_STORAGE, source: openArchiveFolder(archiveFolder, places.findRecord) }];
}

/** The stores and the destination by their names in the ledger, without a destination in the layout `files`. */
export function storagesOf({
  stores,
  target,
  layout,
}: Pick<PlacesOptions, 'stores' | 'target' | 'layout'>): string[] {
  const isStore = target !== null && layout !== 'files';
  return (isStore ? [...stores, addressOf(target)] : stores).map(({ text }) => text);
}

/**
 * Chooses the place that was drilled longest ago, according to the last drills. A place that failed goes first until it
 * proves the repository, because a proof from another place says nothing about the damage there.
 */
export function choosePlace(
  places: readonly DrillPlace[],
  { recentStorages, failedIn }: DueDrill,
): DrillPlace {
  const [first, ...others] = places;
  if (first === undefined) throw new Error('there is no place to restore from');
  const failed = places.find(({ storage }) => storage === failedIn);
  if (failed !== undefined) return failed;
  const age = ({ storage }: DrillPlace) => {
    const at = recentStorages.indexOf(storage);
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  };
  return others.reduce((oldest, one) => (age(one) > age(oldest) ? one : oldest), first);
}
