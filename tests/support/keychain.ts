import { type Keychain, KeychainError } from '../../lib/worker/base/keychain.ts';
import type { Desktop } from '../../lib/worker/base/person.ts';

/** A machine without a browser and a clipboard. */
export const noDesktop: Desktop = {
  open: async () => {
    throw new Error('there is no browser');
  },
  copy: async () => {
    throw new Error('there is no clipboard');
  },
};

/** A keychain in memory, which can be made to fail like real ones. */
export interface MemoryKeychain extends Keychain {
  entries: Map<string, string>;
  /** Why each call fails; null while it works. */
  fault: string | null;
  /** Whether it accepts values but returns something else, like a keychain that loses them. */
  forgets: boolean;
}

export function createMemoryKeychain(): MemoryKeychain {
  const work = () => {
    if (keychain.fault !== null) throw new KeychainError(keychain.fault);
  };
  const keychain: MemoryKeychain = {
    entries: new Map(),
    fault: null,
    forgets: false,
    async read(name) {
      work();
      return keychain.entries.get(name) ?? null;
    },
    async write(name, secret) {
      work();
      if (!keychain.forgets) keychain.entries.set(name, secret);
    },
    async remove(name) {
      work();
      keychain.entries.delete(name);
    },
  };
  return keychain;
}
