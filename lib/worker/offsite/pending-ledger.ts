import type { Ledger, LedgerEntry } from './ledger.ts';

/** A ledger whose entries are kept in memory until they are true. */
export interface PendingLedger extends Ledger {
  /** Writes what is pending, and drops the entries of some archives. */
  settle(except: ReadonlySet<string>): Promise<void>;
  /** Forgets what waits. */
  discard(): void;
}

/** For a store that has nothing of what was created until it is committed. */
export function createPendingLedger(ledger: Ledger): PendingLedger {
  const waiting = new Map<string, LedgerEntry>();
  return {
    read: async (archive) => waiting.get(archive) ?? ledger.read(archive),
    write: async (entry) => void waiting.set(entry.archive, entry),
    list: ledger.list,
    async settle(except) {
      const entries = [...waiting.values()];
      waiting.clear();
      for (const entry of entries) if (!except.has(entry.archive)) await ledger.write(entry);
    },
    discard: () => waiting.clear(),
  };
}
