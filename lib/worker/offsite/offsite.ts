import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { ConfigError, type Environment } from '../../config/read.ts';
import {
  type GitAddress,
  mayHoldPrivate,
  type StoreAddress,
} from '../../config/stores/store-address.ts';
import { replaceFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import type { Log } from '../../log/log.ts';
import type { Cipher } from '../../stores/base/age-file.ts';
import { createSecretNaming, plainNaming } from '../../stores/base/layout.ts';
import type { GitStoreAccess } from '../../stores/git/git-store-options.ts';
import { type OpenStore, openStores } from '../../stores/open-stores.ts';
import { firstOf } from '../../text/units.ts';
import type { KeptArchive } from '../archive/archive.ts';
import type { Source } from '../base/source.ts';
import { checkListing, type ListingCheck } from './check-listing.ts';
import { findPrivateProblem } from './destination/privacy.ts';
import type { Ledger } from './ledger.ts';
import { createSender, type Note, type Storing } from './sender.ts';

/** The configuration of the stores. */
export interface OffsiteConfig {
  addresses: readonly StoreAddress[];
  /** How many stores must have a version; null for all. */
  needed: number | null;
  bytesPerSecond: number | null;
  /** If empty, nothing is encrypted. */
  recipients: readonly string[];
  namesKey: string | null;
}

export interface OffsiteOptions extends OffsiteConfig {
  environment: Environment;
  dataFolder: string;
  archiveFolder: string;
  clock: Clock;
  signal: AbortSignal;
  log: Pick<Log, 'warn'>;
  /** Required for stores that are git repositories. */
  git?: GitStoreAccess & { findPrivacyProblem(address: GitAddress): Promise<string | null> };
}

/** What a store no longer has of what was stored there. */
export interface StoreLack {
  store: string;
  /** The file names of the archives, at least one. */
  archiveKeys: string[];
}

/** The stores of a run. */
export interface Offsite {
  /** How many stores must have a version. */
  needed: number;
  stores: readonly OpenStore[];
  /**
   * Compares what the stores list with what was stored, and returns what they lack. It is stored again once its
   * repository is backed up.
   */
  check(note: Note): Promise<StoreLack[]>;
  /** Stores whatever each store lacks of an archive. Throws file system errors, or the signal's reason. */
  send(source: Source, archive: KeptArchive, note: Note): Promise<Storing[]>;
  /** Commits pending changes. Throws like `send`. */
  settle(): Promise<void>;
  /** What this machine has stored in a store. */
  ledgerOf(store: OpenStore): Ledger;
  /** Removes temporary files. */
  close(): Promise<void>;
}

/** Null if no store is configured. Throws ConfigError. */
export async function openOffsite(options: OffsiteOptions): Promise<Offsite | null> {
  const { addresses, dataFolder } = options;
  const git = () => {
    if (options.git === undefined) throw new Error('access to git repositories was not configured');
    return options.git;
  };
  if (addresses.length === 0) return null;
  const needed = options.needed ?? addresses.length;
  if (needed > addresses.length) {
    throw new ConfigError(
      'BACKUP_STORES_NEEDED must be at most the number of BACKUP_STORES, including the destination',
    );
  }
  const { cipher, naming } = await openNaming(options);
  // Pending changes may be private, and the destination may have become public.
  const privateStores = new Set<string>();
  const stores = await openStores(addresses, {
    ...{ ...options, git: () => watchPrivacy(git(), privateStores) },
    folder: join(dataFolder, 'stores'),
    onRemark: (text) => options.log.warn(text),
  });
  const mayHave = async ({ address }: OpenStore, source: Source) => {
    if (address.kind === 'git') {
      const check = () => git().findPrivacyProblem(address);
      const problem = await findPrivateProblem(source, check);
      if (problem === null && source.host?.isPrivate !== false) privateStores.add(address.text);
      return problem;
    }
    const isPrivate = source.host?.isPrivate ?? true;
    if (!isPrivate || cipher !== null || mayHoldPrivate(address)) return null;
    return `${address.text}: a private repository is stored only if it is encrypted (BACKUP_AGE_RECIPIENTS), or the store is declared private (?private=yes)`;
  };
  const senders = stores.map((store) =>
    createSender(store, { ...options, naming, cipher, findPrivateProblem: mayHave }),
  );
  return {
    ...{ needed, stores },
    async check(note) {
      const lacks: StoreLack[] = [];
      for (const { attempt, setSeen, store, ledger } of senders) {
        const { status, reason } = await attempt(async () => {
          const { seen, incomplete } = await checkStore(store, ledger, note, options);
          if (incomplete.length > 0) {
            lacks.push({ store: store.address.text, archiveKeys: incomplete });
          }
          setSeen(seen);
          return 'there';
        });
        if (status === 'failed') await note('error', reason);
      }
      return lacks;
    },
    send: (source, archive, note) =>
      Promise.all(senders.map((sender) => sender.send(source, archive, note))),
    async settle() {
      for (const sender of senders) await sender.settle();
    },
    ledgerOf(store) {
      const found = senders.find((sender) => sender.store === store);
      if (found === undefined) throw new Error('the store does not belong to this run');
      return found.ledger;
    },
    async close() {
      for (const { objects } of stores) await objects.close?.();
    },
  };
}

/** Checks privacy before each push that contains something private, and not otherwise. */
function watchPrivacy(git: GitStoreAccess, privateStores: ReadonlySet<string>): GitStoreAccess {
  return {
    ...git,
    async beforePush(address) {
      if (privateStores.has(address.text)) await git.beforePush(address);
    },
  };
}

/** Opens how objects are named and encrypted. Throws ConfigError. */
export async function openNaming({
  recipients,
  namesKey,
}: Pick<OffsiteConfig, 'recipients' | 'namesKey'>) {
  if (recipients.length > 0 && namesKey === null) {
    throw new ConfigError('BACKUP_NAMES_KEY is required with BACKUP_AGE_RECIPIENTS');
  }
  const cipher = await openCipher(recipients);
  const naming = namesKey === null || cipher === null ? plainNaming : createSecretNaming(namesKey);
  return { cipher, naming };
}

/** Loads age only when needed. */
async function openCipher(recipients: readonly string[]): Promise<Cipher | null> {
  if (recipients.length === 0) return null;
  const { createCipher } = await import('../../stores/base/age-file.ts');
  return createCipher(recipients);
}

/** Returns the archives that are whole in the store, and those that are not. */
async function checkStore(
  store: OpenStore,
  ledger: Ledger,
  note: Note,
  options: OffsiteOptions,
): Promise<Pick<ListingCheck, 'seen' | 'incomplete'>> {
  const path = join(store.folder, 'listing-cursor');
  const cursor = (await nullIfMissing(readFile(path, 'utf8'))) ?? '';
  const checked = await checkListing(store, ledger, cursor, options);
  const { seen, incomplete, damaged, older, unknown, cursor: next } = checked;
  await replaceFile(path, next);
  for (const key of damaged) {
    await note('error', `${store.address.text}: ${key} is not what was stored there`);
  }
  if (older.length > 0) {
    await note(
      'error',
      `${store.address.text} has states that this machine did not store and that are older than its own, which is stored again: ${firstOf(older)}`,
    );
  }
  if (unknown.length > 0) {
    await note(
      'warn',
      `${store.address.text} has newer encrypted states that this machine did not store and cannot read: ${firstOf(unknown)}. Unless another machine stores there, somebody may have put old ones back: run \`npm run worker -- store check --identity FILE\``,
    );
  }
  if (incomplete.length > 0) {
    await note(
      'error',
      `${store.address.text} lacks some of what was stored there, which is stored again once its repository is backed up: ${firstOf(incomplete)}`,
    );
  }
  return { seen, incomplete };
}
