import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { ConfigError } from '../../config/read.ts';
import type { StoreAddress } from '../../config/store-address.ts';
import { replaceFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import type { Cipher } from '../../stores/cipher.ts';
import { createSecretNaming, plainNaming, README_KEY } from '../../stores/layout.ts';
import { StoreFault } from '../../stores/object-store.ts';
import { type OpenStore, openStores } from '../../stores/open-stores.ts';
import { formatReadme } from '../../stores/readme.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { KeptArchive } from '../archive/archive.ts';
import type { Source } from '../source.ts';
import { checkListing } from './check-listing.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { writeToOutbox } from './outbox.ts';
import { isStored, sendArchive } from './send-archive.ts';

/** After so many failures in a row, a store is not tried again in this run. */
const MAX_FAILURES = 3;

/** What the configuration says of stores. */
export interface OffsiteConfig {
  addresses: readonly StoreAddress[];
  /** How many stores must have a version. */
  needed: number;
  bytesPerSecond: number | null;
  /** Empty: nothing is encrypted. */
  recipients: readonly string[];
  namesKey: string | null;
}

export interface OffsiteOptions extends OffsiteConfig {
  dataFolder: string;
  archiveFolder: string;
  clock: Clock;
  signal: AbortSignal;
}

/** Whether a store has an archive with all its versions. */
export interface Storing {
  /** The address of the store. */
  store: string;
  status: 'there' | 'stored' | 'failed';
  /** Why it has not; empty if it has. */
  reason: string;
}

/** A line for the log of the run. */
export type Note = (level: 'info' | 'warn' | 'error', text: string) => Promise<void>;

/** The stores of a run. */
export interface Offsite {
  /** How many stores must have a version. */
  needed: number;
  /** Compares what the stores list with what was stored. What they lack is stored again. */
  check(note: Note): Promise<void>;
  /** Stores what each store lacks of an archive. Throws file system errors, or the signal's reason. */
  send(source: Source, archive: KeptArchive, note: Note): Promise<Storing[]>;
}

/** Null if no store is configured. Throws ConfigError. */
export async function openOffsite(options: OffsiteOptions): Promise<Offsite | null> {
  const { addresses, recipients, namesKey, dataFolder, clock, signal, archiveFolder } = options;
  if (addresses.length === 0) return null;
  if (options.needed > addresses.length) {
    throw new ConfigError('BACKUP_STORES_NEEDED must be at most the number of BACKUP_STORES');
  }
  if (recipients.length > 0 && namesKey === null) {
    throw new ConfigError('BACKUP_NAMES_KEY is required with BACKUP_AGE_RECIPIENTS');
  }
  const cipher = await openCipher(recipients);
  const naming = namesKey === null || cipher === null ? plainNaming : createSecretNaming(namesKey);
  const stores = await openStores(addresses, { ...options, folder: join(dataFolder, 'stores') });
  const senders = stores.map((store) => {
    const ledger = openLedger(store.folder);
    let failures = 0;
    let last = '';
    const begin = createBeginning(store);

    /** Counts the failures of a store, so that one that is away is not waited for with each archive. */
    async function attempt(work: () => Promise<Storing['status']>): Promise<Storing> {
      const { text: address } = store.address;
      if (failures >= MAX_FAILURES) {
        const reason = cleanText(`${last} (not tried again in this run)`);
        return { store: address, status: 'failed', reason };
      }
      try {
        const status = await work();
        failures = 0;
        return { store: address, status, reason: '' };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StoreFault)) throw error;
        last = error.message;
        // It may be another store, or none.
        if (error.kind === 'missing') failures = MAX_FAILURES;
        // Of one archive, and not of the store.
        else if (error.kind !== 'damaged' && error.kind !== 'other') failures++;
        return { store: address, status: 'failed', reason: cleanText(error.message) };
      }
    }

    return {
      check: (note: Note) =>
        attempt(async () => {
          await checkStore(store, ledger, note, options);
          return 'there';
        }),
      send: (source: Source, archive: KeptArchive, note: Note) =>
        attempt(async () => {
          if (isStored(await ledger.read(archive.key), archive)) return 'there';
          const isPrivate = source.host?.isPrivate ?? true;
          if (isPrivate && cipher === null && !mayReadPrivate(store.address)) {
            throw new StoreFault(
              'other',
              `${store.address.text}: a private repository is stored only if it is encrypted (BACKUP_AGE_RECIPIENTS), or the store is stated to be private (?private=yes)`,
            );
          }
          await begin();
          const onRemark = (text: string) => note('warn', text);
          await sendArchive(
            { store, ledger, naming, cipher, archiveFolder, clock, signal, onRemark },
            source.name,
            archive,
          );
          return 'stored';
        }),
    };
  });
  return {
    needed: options.needed,
    async check(note) {
      for (const sender of senders) {
        const { status, reason } = await sender.check(note);
        if (status === 'failed') await note('error', reason);
      }
    },
    send: (source, archive, note) =>
      Promise.all(senders.map((sender) => sender.send(source, archive, note))),
  };
}

/** Loads age only if it is needed. */
async function openCipher(recipients: readonly string[]): Promise<Cipher | null> {
  if (recipients.length === 0) return null;
  const { createCipher } = await import('../../stores/cipher.ts');
  return createCipher(recipients);
}

/** A folder is read by whom its owner lets in. */
function mayReadPrivate(address: StoreAddress): boolean {
  return address.kind === 'folder' || address.isPrivate;
}

/** Stores once how to restore by hand, before anything else. */
function createBeginning({ objects, folder }: OpenStore): () => Promise<void> {
  let begun: Promise<void> | null = null;
  const begin = async () => {
    const marker = join(folder, 'readme-is-stored');
    if ((await nullIfMissing(readFile(marker))) !== null) return;
    const readme = await writeToOutbox(join(folder, 'outbox'), formatReadme());
    await objects.create(README_KEY, readme);
    await readme.remove();
    await writeFile(marker, '', { mode: 0o600 });
  };
  return () => {
    begun ??= begin().catch((error: unknown) => {
      begun = null;
      throw error;
    });
    return begun;
  };
}

async function checkStore(
  store: OpenStore,
  ledger: Ledger,
  note: Note,
  options: OffsiteOptions,
): Promise<void> {
  const path = join(store.folder, 'listing-cursor');
  const cursor = (await nullIfMissing(readFile(path, 'utf8'))) ?? '';
  const checked = await checkListing(store, ledger, cursor, options);
  const { incomplete, damaged, cursor: next } = checked;
  await replaceFile(path, next);
  for (const key of damaged) {
    await note('error', `${store.address.text}: ${key} is not what was stored there`);
  }
  if (incomplete.length === 0) return;
  const [first] = incomplete;
  const others = incomplete.length === 1 ? '' : ` and ${incomplete.length - 1} more`;
  await note(
    'error',
    `${store.address.text} lacks what was stored there, and it is stored again: ${first}${others}`,
  );
}
