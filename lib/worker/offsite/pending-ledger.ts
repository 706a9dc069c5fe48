import type { Ledger, LedgerEntry } from './ledger.ts';

/** A ledger that keeps entries in memory until a commit makes them true. */
export interface PendingLedger extends Ledger {
  /** Writes pending entries, except those of some archives, which are dropped. */
  settle(except: ReadonlySet<string>): Promise<void>;
  /** Drops pending entries. */
  discard(): void;
}

/** For a store in which nothing exists until it is committed. */
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
