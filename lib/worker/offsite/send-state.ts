import { createHash } from 'node:crypto';
import { MAX_STATE_NUMBER, stateKey } from '../../stores/base/layout.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import { findLastNumber } from './last-numbers.ts';
import type { LedgerEntry } from './ledger.ts';
import { encryptToOutbox, type OutgoingFile, writeToOutbox } from './outbox.ts';
import type { SendContext } from './send-context.ts';

/** Attempts to number a state while other workers claim the same numbers. */
const MAX_NUMBERS = 3;

/**
 * Stores a state under the next number of its archive. Throws StoreFault if other workers keep taking the numbers, or if
 * there is none left.
 */
export async function sendState(
  context: SendContext,
  entry: LedgerEntry,
  outbox: string,
  text: string,
): Promise<NonNullable<LedgerEntry['state']> & { stored_sha256: string }> {
  const { store, cipher, signal, onRemark } = context;
  const written = await writeToOutbox(outbox, text);
  const file = cipher === null ? written : await encryptToOutbox(outbox, written, cipher, signal);
  let number = entry.last_number + 1;
  for (let tries = 1; ; tries++) {
    if (number > MAX_STATE_NUMBER) {
      const last = stateKey(entry.archive_name, number - 1, cipher !== null);
      const todo = 'if this machine did not store it, remove it with credentials that allow it';
      throw new StoreFault('other', `${store.address.text}: no state can follow ${last}: ${todo}`);
    }
    const key = stateKey(entry.archive_name, number, cipher !== null);
    const stored = { number, key, stored_bytes: file.sizeBytes, stored_sha256: file.sha256 };
    if (await store.objects.create(key, file)) return stored;
    // Our answer was lost, or another worker stored it.
    if (await isOurs(store, key, file)) return stored;
    if (tries === MAX_NUMBERS) {
      throw new StoreFault(
        'other',
        `${store.address.text}: another worker is storing ${entry.archive}`,
      );
    }
    number = (await findLastNumber(store.objects, entry.archive_name, number)) + 1;
    await onRemark(describeNewer(store));
  }
}

async function isOurs(
  { objects }: OpenStore,
  key: string,
  { sha256, sizeBytes }: OutgoingFile,
): Promise<boolean> {
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const chunk of (await objects.read(key)) ?? []) {
      size += chunk.length;
      if (size > sizeBytes) return false;
      hash.update(chunk);
    }
  } catch (error) {
    // The object there is not ours and cannot be read.
    if (error instanceof StoreFault && error.kind === 'damaged') return false;
    throw error;
  }
  return hash.digest('hex') === sha256;
}

/** What a person is told if the store has states that the ledger lacks. */
export function describeNewer({ address }: OpenStore): string {
  return `${address.text} has a newer state of this archive than this machine knows: both are kept`;
}
