import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { mayHoldPrivate } from '../../../config/stores/store-address.ts';
import { keysOf, parseKey, README_KEY } from '../../../stores/base/layout.ts';
import { type StoredObject, StoreFault } from '../../../stores/base/object-store.ts';
import { fetchObject } from '../../../stores/reading/fetch-object.ts';
import { hashObject } from '../../../stores/reading/hash-object.ts';
import { ObjectFault } from '../../../stores/reading/object-fault.ts';
import { counted, formatBytes } from '../../../text/units.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import { createDisplay, type Display } from '../../base/display.ts';
import { type CommandStore, openForCommand } from './open-for-command.ts';
import type { CopyStoreCommand } from './store-commands.ts';
import { createStoreReport, type StoreReport } from './store-report.ts';

const AT_ONCE = 4;

/**
 * Copies what a store lacks from another one, byte for byte, and returns the exit code: 1 if something was not copied.
 * Throws AppError or ConfigError.
 */
export async function copyStore(
  options: WorkerOptions,
  command: CopyStoreCommand,
): Promise<number> {
  const { stdout, stderr, isTerminal } = options.io;
  const opened = await openForCommand(options, [command.from, command.to], command.identityFile);
  const [from, to] = opened;
  if (from === undefined || to === undefined) throw new Error('two stores were expected');
  const report = createStoreReport(stdout, to.store.address.text);
  const display = createDisplay(stderr, isTerminal);
  const copy = createCopy(from, to, report, display);
  try {
    await reportFault(report, async () => {
      const { repository } = command;
      const names = repository === null ? await listNames(from) : await from.namesOf(repository);
      await copy.readme();
      for (const name of names) await copy.archive(name);
    });
    // Also after a fault, so that the next attempt does not copy the same objects again.
    await reportFault(report, async () => {
      for (const key of (await to.store.objects.commit?.()) ?? []) {
        report.fault(`${key} was stored by someone else in the meantime, with different content`);
      }
    });
  } finally {
    for (const { store } of opened) await store.objects.close?.();
  }
  display.clear();
  const { copied, there, bytes } = copy.counts;
  const faults = report.faults();
  const result = faults === 0 ? 'everything is there now' : counted(faults, 'fault');
  report.say(
    `copied ${counted(copied, 'object')} of ${formatBytes(bytes)}, ${there} were already there: ${result}`,
  );
  return faults === 0 ? 0 : 1;
}

/** Reports a StoreFault of the work instead of throwing it. */
async function reportFault(report: StoreReport, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    report.fault(error.message);
  }
}

async function listNames({ store }: CommandStore): Promise<string[]> {
  const names = new Set<string>();
  for await (const { key } of store.objects.list(keysOf())) {
    const parsed = parseKey(key);
    if (parsed !== null) names.add(parsed.archiveName);
  }
  return [...names];
}

function createCopy(from: CommandStore, to: CommandStore, report: StoreReport, display: Display) {
  const counts = { copied: 0, there: 0, bytes: 0 };
  const folder = join(to.store.folder, 'copying');
  // The privacy of a git repository is checked before each push.
  const mayHavePlain = to.store.address.kind === 'git' || mayHoldPrivate(to.store.address);

  /** Copies objects before the states that name them, and states oldest first, so that no state lacks an object. */
  async function archive(name: string): Promise<void> {
    // States are listed first: an object that is added later belongs to a later state.
    const states = await list(from, `${keysOf(name)}states/`);
    const objects = await list(from, `${keysOf(name)}objects/`);
    if (!mayHavePlain && [...states, ...objects].some(({ key }) => !isEncrypted(key))) {
      report.fault(
        `archives/${name} is not encrypted and may be of a private repository: copy it only to a bucket that is declared private (?private=yes)`,
      );
      return;
    }
    const there = new Map<string, StoredObject>();
    for await (const object of to.store.objects.list(keysOf(name))) there.set(object.key, object);
    const limit = pLimit(AT_ONCE);
    const done = await limit.map(objects, (object) => copyOne(object, there.get(object.key)));
    if (!done.every((isDone) => isDone)) {
      report.fault(`the states of archives/${name} are not copied, because objects are not`);
      return;
    }
    for (const state of states) if (!(await copyOne(state, there.get(state.key)))) return;
  }

  /** Whether the target has the object now. */
  async function copyOne(object: StoredObject, there: StoredObject | undefined): Promise<boolean> {
    try {
      if (there !== undefined) await compare(object, there);
      else await transfer(object);
      display.footer([`${counts.copied} copied, ${formatBytes(counts.bytes)}: ${object.key}`]);
      return true;
    } catch (error) {
      const isObjectFault =
        error instanceof ObjectFault || (error instanceof StoreFault && error.kind === 'damaged');
      if (!isObjectFault) throw error;
      report.fault(error.message);
      return false;
    }
  }

  /** An object's name identifies its content; a state's name does not. */
  async function compare({ key, sizeBytes }: StoredObject, there: StoredObject): Promise<void> {
    const isSame =
      there.sizeBytes === sizeBytes &&
      (parseKey(key)?.kind === 'object' ||
        (await hashObject(from.reading, { key, sizeBytes })) ===
          (await hashObject(to.reading, there)));
    if (!isSame) {
      throw new ObjectFault(
        'damaged',
        key,
        'already exists with different content, and is not replaced',
      );
    }
    counts.there++;
  }

  async function transfer({ key, sizeBytes }: StoredObject): Promise<void> {
    const parsed = parseKey(key);
    const expected = parsed?.kind === 'object' ? parsed.sha256 : null;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, createHash('sha256').update(key).digest('hex').slice(0, 32));
    // A state has no hash that a partial earlier download could be checked against.
    if (expected === null) await rm(path, { force: true });
    const object = { key, sizeBytes, sha256: expected };
    const sha256 = await fetchObject(from.reading, object, path, () => undefined);
    const isNew = await to.store.objects.create(key, { path, sha256, sizeBytes });
    await rm(path, { force: true });
    if (!isNew && (await hashObject(to.reading, { key, sizeBytes })) !== sha256) {
      throw new ObjectFault(
        'damaged',
        key,
        'already exists with different content, and is not replaced',
      );
    }
    counts.copied++;
    counts.bytes += sizeBytes;
  }

  return {
    counts,
    archive,
    async readme(): Promise<void> {
      for (const object of await list(from, README_KEY)) {
        if (object.key !== README_KEY) continue;
        // The README of another release has a different text.
        if ((await list(to, README_KEY)).some(({ key }) => key === README_KEY)) continue;
        await copyOne(object, undefined);
      }
    },
  };
}

function isEncrypted(key: string): boolean {
  return parseKey(key)?.isEncrypted ?? false;
}

async function list({ store }: CommandStore, prefix: string): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  for await (const object of store.objects.list(prefix)) found.push(object);
  return found;
}
