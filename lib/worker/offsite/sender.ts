import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { nullIfMissing } from '../../files.ts';
import type { StoringFault } from '../../records/recording/stores.ts';
import type { Cipher } from '../../stores/base/age-file.ts';
import { type Naming, parseKey, README_KEY } from '../../stores/base/layout.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import { formatReadme } from '../../stores/base/readme.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { KeptArchive } from '../archive/archive.ts';
import type { Source } from '../base/source.ts';
import { createLastNumbers } from './last-numbers.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { writeToOutbox } from './outbox.ts';
import { createPendingLedger } from './pending-ledger.ts';
import { isStored, sendArchive } from './send-archive.ts';

/** After this many failures in a row, a store is not tried again in this run. */
const MAX_FAILURES = 3;
/** Attempts to send an archive that another worker is sending at the same time. */
const MAX_ROUNDS = 3;

/** Writes a line to the run's log. */
export type Note = (level: 'info' | 'warn' | 'error', text: string) => Promise<void>;

/**
 * Whether a store has an archive with all its versions: `there` if this machine's ledger says so, `seen` if this run
 * also saw it in the store.
 */
export interface SettledStoring {
  /** The address of the store. */
  store: string;
  status: 'there' | 'seen' | 'stored' | 'failed';
  /** Why the store lacks the archive; empty if it has it. */
  reason: string;
  /** Null if it has it. */
  fault: StoringFault | null;
  /** Whether the store is a git repository that archives are pushed to. */
  isPush: boolean;
}

/** Waits for a commit: `settled` resolves with the outcome. */
export interface WaitingStoring {
  store: string;
  status: 'waiting';
  settled: Promise<SettledStoring>;
}

export type Storing = SettledStoring | WaitingStoring;

/** Sends archives to one store. */
export interface Sender {
  store: OpenStore;
  ledger: Ledger;
  /** Counts the store's failures, so that not every archive waits for an unreachable store. */
  attempt(work: () => Promise<'there' | 'stored'>): Promise<SettledStoring>;
  /** Records which archives a listing of this run has shown. */
  setSeen(archives: ReadonlySet<string>): void;
  send(source: Source, archive: KeptArchive, note: Note): Promise<Storing>;
  /** Commits pending changes and resolves the waiting storings. Throws file system errors, or the signal's reason. */
  settle(): Promise<void>;
}

export interface SenderOptions {
  naming: Naming;
  /** Null if nothing is encrypted. */
  cipher: Cipher | null;
  archiveFolder: string;
  clock: Clock;
  signal: AbortSignal;
  /** Why a source may not be stored there; null if it may. */
  findPrivateProblem(store: OpenStore, source: Source): Promise<string | null>;
}

interface Waiting {
  source: Source;
  archive: KeptArchive;
  note: Note;
  resolve(storing: SettledStoring): void;
}

/** Creates the sender for a store. */
export function createSender(store: OpenStore, options: SenderOptions): Sender {
  const { signal } = options;
  const { objects, address } = store;
  const isPush = store.repository !== null;
  const ledger = openLedger(store.folder);
  const pending = isPush ? createPendingLedger(ledger) : null;
  const begin = createReadmeWriter(store);
  const lastNumber = createLastNumbers(objects);
  let waiting: Waiting[] = [];
  let failures = 0;
  let last = '';
  let seen: ReadonlySet<string> = new Set();

  const failed = (reason: string, fault: StoringFault = 'lacking'): SettledStoring => {
    // It is told as the failure of a push, whose destination is known.
    const why = isPush ? withoutAddress(reason) : reason;
    const what = fault === 'unreached' ? `not reached: ${why}` : why;
    const text = cleanText(isPush ? `not pushed: ${what}` : what);
    return { store: address.text, status: 'failed', isPush, fault, reason: text };
  };
  const withoutAddress = (reason: string) =>
    reason.startsWith(`${address.text}: `) ? reason.slice(address.text.length + 2) : reason;

  async function attempt(work: () => Promise<'there' | 'stored'>): Promise<SettledStoring> {
    if (failures >= MAX_FAILURES) return failed(last);
    try {
      const status = await work();
      failures = 0;
      return { store: address.text, status, reason: '', fault: null, isPush };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StoreFault)) throw error;
      // A fault of the archive, not of the store.
      if (error.kind === 'damaged' || error.kind === 'other') return failed(error.message);
      last = error.message;
      // It may be the wrong store, or none.
      failures = error.kind === 'missing' ? MAX_FAILURES : failures + 1;
      return failed(error.message);
    }
  }

  /** What the store has according to the ledger, without a request. */
  function known(archive: string): SettledStoring {
    const isSeen = seen.has(archive);
    if (!isSeen && failures >= MAX_FAILURES) return failed(last, 'unreached');
    const status = isSeen ? 'seen' : 'there';
    return { store: address.text, status, reason: '', fault: null, isPush };
  }

  async function sendOne({ source, archive, note }: Omit<Waiting, 'resolve'>): Promise<void> {
    await begin();
    const onRemark = (text: string) => note('warn', text);
    const context = { ...options, store, ledger: pending ?? ledger, lastNumber, onRemark };
    await sendArchive(context, source.name, archive);
  }

  async function send(source: Source, archive: KeptArchive, note: Note): Promise<Storing> {
    const isThere = isStored(
      await (pending ?? ledger).read(archive.key),
      archive,
      options.cipher !== null,
    );
    if (isThere) return known(archive.key);
    const problem = await options.findPrivateProblem(store, source);
    if (problem !== null) return failed(problem);
    let isWaiting = false;
    const sent = await attempt(async () => {
      await sendOne({ source, archive, note });
      isWaiting = isPush;
      return 'stored';
    });
    if (!isWaiting) return sent;
    const { promise: settled, resolve } = Promise.withResolvers<SettledStoring>();
    waiting.push({ source, archive, note, resolve });
    return { store: address.text, status: 'waiting', settled };
  }

  /** Commits once, and sends again if other workers have stored something since. */
  async function settleRound(round: number): Promise<void> {
    const batch = waiting;
    waiting = [];
    // An archive keeps its name when BACKUP_NAMES_KEY changes.
    const names = new Map<string, string>();
    for (const { archive } of batch) {
      const entry = await pending?.read(archive.key);
      names.set(archive.key, entry?.archive_name ?? options.naming.archive(archive.key));
    }
    const taken = new Set<string>();
    const result = await attempt(async () => {
      for (const key of (await objects.commit?.()) ?? []) {
        taken.add(parseKey(key)?.archiveName ?? key);
      }
      return 'stored';
    });
    const isTaken = ({ archive }: Waiting) => taken.has(names.get(archive.key) ?? '');
    const lost = batch.filter(isTaken);
    if (result.status === 'failed') pending?.discard();
    else await pending?.settle(new Set(lost.map(({ archive }) => archive.key)));
    for (const one of batch) {
      if (!isTaken(one)) one.resolve(result);
      else if (round >= MAX_ROUNDS)
        one.resolve(failed('another worker is storing the same archive'));
      else {
        const again = await attempt(async () => {
          await sendOne(one);
          return 'stored';
        });
        if (again.status === 'failed') one.resolve(again);
        else waiting.push(one);
      }
    }
  }

  return {
    ...{ store, ledger, attempt, send },
    setSeen(archives) {
      seen = archives;
    },
    async settle() {
      for (let round = 1; waiting.length > 0; round++) await settleRound(round);
    },
  };
}

/** Stores restore instructions once, before anything else. */
function createReadmeWriter({ objects, folder, repository }: OpenStore): () => Promise<void> {
  let begun: Promise<void> | null = null;
  const begin = async () => {
    const marker = join(folder, 'readme-is-stored');
    // A clone shows at once whether they are there, and a marker would be wrong if the push never happens.
    if (repository === null && (await nullIfMissing(readFile(marker))) !== null) return;
    const readme = await writeToOutbox(join(folder, 'outbox'), formatReadme());
    await objects.create(README_KEY, readme);
    await readme.remove();
    if (repository === null) await writeFile(marker, '', { mode: 0o600 });
  };
  return () => {
    if (repository !== null) return begin();
    begun ??= begin().catch((error: unknown) => {
      begun = null;
      throw error;
    });
    return begun;
  };
}
