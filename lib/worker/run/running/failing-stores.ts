import { listFailingStorings } from '../../../records/recording/stores.ts';
import type { Offsite } from '../../offsite/offsite.ts';
import type { RunStore } from '../spool/run-store.ts';

/**
 * Returns a function that says whether a store may have failed to take a repository at the last attempt; without the
 * database, any may have.
 */
export async function findFailing(
  store: RunStore,
  offsite: Offsite | null,
): Promise<(repository: string, address: string) => boolean> {
  if (offsite === null) return () => false;
  const addresses = offsite.stores.map(({ address }) => address.text);
  const nameOf = (repository: string, address: string) => `${address}\n${repository}`;
  const failing = await store.read(
    async (db) => {
      const rows = await listFailingStorings(db, addresses);
      return new Set(rows.map((row) => nameOf(row.repository, row.store)));
    },
    () => null,
  );
  return (repository, address) => failing?.has(nameOf(repository, address)) ?? true;
}
