import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { parseStoreAddress } from '../../../lib/config/stores/store-address.ts';
import { decrypt } from '../../../lib/stores/base/age-file.ts';
import { keysOf, parseKey } from '../../../lib/stores/base/layout.ts';
import { parseState, type StoreState } from '../../../lib/stores/base/store-state.ts';
import { openStores } from '../../../lib/stores/open-stores.ts';

/** Checks an encrypted store as a person who restores from it would. */
export interface StoreLedger {
  /** Checks that every state ever seen is unchanged and has all its files. Returns the newest. */
  check(): Promise<StoreState | null>;
}

/** `folder` is for what the client of the store records. */
export async function createStoreLedger(
  address: string,
  identity: string,
  folder: string,
): Promise<StoreLedger> {
  const [store] = await openStores([parseStoreAddress(address)], {
    environment: {},
    folder,
    bytesPerSecond: null,
    clock: systemClock,
    signal: new AbortController().signal,
    onRemark: () => undefined,
  });
  if (store === undefined) throw new Error('there is no store');
  const { objects } = store;
  const seen = new Map<string, string>();

  async function read(key: string): Promise<Buffer> {
    const bytes = await objects.read(key);
    if (bytes === null) throw new Error(`${key} is missing`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of decrypt(bytes, [identity])) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  return {
    async check() {
      let newest: StoreState | null = null;
      const found = new Set<string>();
      for await (const { key } of objects.list(keysOf())) {
        const parsed = parseKey(key);
        expect(parsed, key).not.toBeNull();
        if (parsed?.kind !== 'state') continue;
        found.add(key);
        const text = String(await read(key));
        expect(seen.get(key) ?? text, `${key} was replaced`).toBe(text);
        const state = parseState(text);
        if (state === null) throw new Error(`${key} is not a state`);
        newest = state;
        if (seen.has(key)) continue;
        seen.set(key, text);
        for (const file of state.files) {
          const hash = createHash('sha256').update(await read(file.key));
          expect(hash.digest('hex'), `${key}: ${file.name}`).toBe(file.sha256);
        }
      }
      for (const key of seen.keys()) expect(found, `${key} no longer exists`).toContain(key);
      return newest;
    },
  };
}
