import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { parseStoreAddress } from '../../../lib/config/stores/store-address.ts';
import { keysOf, objectKey, README_KEY, stateKey } from '../../../lib/stores/base/layout.ts';
import { openStores } from '../../../lib/stores/open-stores.ts';
import { checkListing } from '../../../lib/worker/offsite/check-listing.ts';
import { openLedger } from '../../../lib/worker/offsite/ledger.ts';
import { useTemporaryFolder } from '../../support/folders.ts';

const folder = useTemporaryFolder();
const LIMIT = 20_000;
/** The SHA-256 of all objects here, which are empty. */
const sha256 = createHash('sha256').digest('hex');

it('a store too large for one listing shows each archive completely in one of several runs', async () => {
  const root = join(folder, 'nas');
  await mkdir(root);
  const { signal } = new AbortController();
  const [store] = await openStores([parseStoreAddress(`file://${root}`)], {
    environment: {},
    folder: join(folder, 'data'),
    ...{ bytesPerSecond: null, clock: systemClock, signal, onRemark: () => undefined },
  });
  if (store === undefined) throw new Error('there is no store');
  const ledger = openLedger(store.folder);
  const put = async (key: string) => {
    await mkdir(join(root, dirname(key)), { recursive: true });
    await writeFile(join(root, key), '');
  };
  const plant = async (name: string) => {
    const object = objectKey(name, sha256, null);
    const state = stateKey(name, 1, false);
    for (const key of [object, state]) await put(key);
    await ledger.write({
      ...{ format: 1, archive: `${name}.bundle`, archive_name: name, last_number: 1 },
      state: { number: 1, key: state, stored_bytes: 0, stored_sha256: null },
      files: [{ name: 'a', key: object, sha256, size_bytes: 0, stored_bytes: 0 }],
      ...{ own_states: [], chain: null, content: null, damaged: [], replaced: [] },
    });
  };
  await put(README_KEY);
  for (const name of ['first', 'second', 'third']) await plant(name);
  // The object of `second` comes before the limit, but its state after it.
  for (let count = 3; count < LIMIT; count++)
    await writeFile(join(root, `${keysOf('first')}${count}`), '');
  const check = async (cursor: string) => {
    const found = await checkListing(store, ledger, cursor, { clock: systemClock, signal });
    return { seen: [...found.seen].sort(), cursor: found.cursor };
  };
  expect(await check('')).toEqual({ seen: ['first.bundle'], cursor: keysOf('second') });
  expect(await check(keysOf('second'))).toEqual({
    seen: ['second.bundle', 'third.bundle'],
    cursor: '',
  });
});
