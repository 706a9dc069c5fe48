import { keysOf, README_KEY } from '../../stores/layout.ts';
import { StoreFault } from '../../stores/object-store.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import type { Ledger, LedgerEntry } from './ledger.ts';

/** How many keys are listed in a run. The next run goes on where this one ends. */
const MAX_LISTED = 20_000;

/** What a listing has shown. */
export interface ListingCheck {
  /** Archives of which the store lacks something, which is stored again. */
  incomplete: string[];
  /** The last key that was listed; empty when the end was reached. */
  cursor: string;
}

/**
 * Compares what a store lists after `cursor` with the ledger, from which it takes what the store lacks, so that it
 * is stored again. Throws StoreFault, also for a store that is empty though something was stored there.
 */
export async function checkListing(
  { objects, address }: OpenStore,
  ledger: Ledger,
  cursor: string,
): Promise<ListingCheck> {
  const entries: LedgerEntry[] = [];
  for await (const entry of ledger.list()) if (entry.files.length > 0) entries.push(entry);
  if (entries.length === 0) return { incomplete: [], cursor: '' };
  await checkReadme();
  const sizes = new Map<string, number>();
  let last = '';
  for await (const { key, sizeBytes } of objects.list(keysOf(), cursor)) {
    sizes.set(key, sizeBytes);
    last = key;
    if (sizes.size >= MAX_LISTED) break;
  }
  const isEnd = sizes.size < MAX_LISTED;
  const isListed = (key: string) => key > cursor && (isEnd || key <= last);
  const incomplete: string[] = [];
  for (const entry of entries) {
    const isThere = ({ key, stored_bytes }: { key: string; stored_bytes: number }) =>
      !isListed(key) || sizes.get(key) === stored_bytes;
    const files = entry.files.filter(isThere);
    const state = entry.state !== null && isThere(entry.state) ? entry.state : null;
    if (files.length === entry.files.length && state === entry.state) continue;
    incomplete.push(entry.archive);
    await ledger.write({ ...entry, files, state: null });
  }
  return { incomplete, cursor: isEnd ? '' : last };

  /** A disk that is not mounted, or a bucket of another account, looks like a store that is empty. */
  async function checkReadme(): Promise<void> {
    for await (const { key } of objects.list(README_KEY)) if (key === README_KEY) return;
    throw new StoreFault(
      'missing',
      `${address.text}: ${README_KEY} is gone, though archives were stored there: is it the right store? If it was emptied on purpose, delete the folder stores in DATA_DIR, and everything is stored again`,
    );
  }
}
