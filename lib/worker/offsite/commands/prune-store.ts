import { type StoredObject, StoreFault } from '../../../stores/base/object-store.ts';
import type { StateFile } from '../../../stores/base/store-state.ts';
import { readStates } from '../../../stores/reading/find-version.ts';
import type { ArchiveInStore, ListedState } from '../../../stores/reading/list-contents.ts';
import type { ObjectFault } from '../../../stores/reading/object-fault.ts';
import { counted, formatBytes } from '../../../text/units.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import { type CommandStore, withEachStore } from './open-for-command.ts';
import type { PruneStoreCommand } from './store-commands.ts';
import type { StoreReport } from './store-report.ts';

const DAY_MS = 24 * 60 * 60_000;

/**
 * Removes old states and the objects that only they use, or prints what it would remove. Returns the exit code: 1 if an
 * archive was skipped because something is wrong with it. Throws AppError or ConfigError.
 */
export function pruneStores(options: WorkerOptions, command: PruneStoreCommand): Promise<number> {
  const { store: given, identityFile } = command;
  return withEachStore(options, given && [given], identityFile, (store, report) =>
    pruneStore(store, command, report),
  );
}

async function pruneStore(
  from: CommandStore,
  { repository, olderThanDays, isDryRun }: PruneStoreCommand,
  report: StoreReport,
): Promise<void> {
  const { clock } = from.reading;
  const before = clock.now() - olderThanDays * DAY_MS;
  const sum = { states: 0, objects: 0, bytes: 0 };
  for await (const listed of from.list(repository)) {
    if (!('archive' in listed)) continue;
    const plan = await planPruning(from, listed.archive, before, report);
    if (plan === null) continue;
    if (!isDryRun && !(await remove(from, listed.archive, plan, report))) continue;
    sum.states += plan.states.length;
    sum.objects += plan.objects.length;
    sum.bytes += plan.objects.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  }
  const what = `${counted(sum.states, 'state')} and ${counted(sum.objects, 'object')} of ${formatBytes(sum.bytes)}`;
  await from.store.objects.commit?.();
  const remark = isDryRun ? 'would be removed: give --yes to remove them' : 'removed';
  report.say(sum.states + sum.objects === 0 ? 'nothing to remove' : `${what} ${remark}`);
}

interface Plan {
  /** Oldest first. */
  states: ListedState[];
  objects: StoredObject[];
}

/** What can be removed from an archive; null if nothing, or if something is wrong with it. */
async function planPruning(
  { reading }: CommandStore,
  { name, objects, states }: ArchiveInStore,
  before: number,
  report: StoreReport,
): Promise<Plan | null> {
  const newest = states.at(-1);
  // An upload that has not finished.
  if (newest === undefined) return null;
  const contents = new Map<string, { at: number; keys: string[] }>();
  let newestFiles: StateFile[] = [];
  // Holds each key in memory once, however many states name it.
  const known = new Map<string, string>();
  const faults: ObjectFault[] = [];
  await readStates(reading, states, {
    found: ({ ref, at, files }) => {
      const keys = files.map(({ key }) => known.get(key) ?? key);
      for (const key of keys) known.set(key, key);
      contents.set(ref.key, { at: Date.parse(at), keys });
      if (ref.key === newest.key) newestFiles = files;
    },
    onFault: (fault) => void faults.push(fault),
  });
  const [fault] = faults;
  if (fault !== undefined) {
    report.fault(`nothing is removed from archives/${name}: ${fault.message}`);
    return null;
  }
  for (const { key, stored_bytes } of newestFiles) {
    if (objects.get(key)?.sizeBytes === stored_bytes) continue;
    report.fault(
      `nothing is removed from archives/${name}: ${key}, which its newest state needs, is missing or has another size`,
    );
    return null;
  }
  // Removes from the oldest state on, so that there are no gaps.
  const firstKept = states.findIndex(
    ({ key, storedMs }) =>
      key === newest.key || storedMs >= before || (contents.get(key)?.at ?? before) >= before,
  );
  const kept = states.slice(firstKept);
  const needed = new Set(kept.flatMap(({ key }) => contents.get(key)?.keys ?? []));
  const unneeded = [...objects.values()].filter(
    // A younger object may belong to an unfinished upload.
    ({ key, storedMs }) => !needed.has(key) && storedMs < before,
  );
  const plan = { states: states.slice(0, firstKept), objects: unneeded };
  return plan.states.length + plan.objects.length === 0 ? null : plan;
}

/** False, and nothing is removed, if the archive has changed since it was listed. */
async function remove(
  { store }: CommandStore,
  { states, name }: ArchiveInStore,
  plan: Plan,
  report: StoreReport,
): Promise<boolean> {
  const { objects } = store;
  const newest = states.at(-1)?.key ?? '';
  for await (const { key } of objects.list(newest.slice(0, newest.lastIndexOf('/') + 1), newest)) {
    report.say(`archives/${name} is left for the next time: ${key} was just added`);
    return false;
  }
  // States come first: an existing state always has all its objects.
  for (const { key } of [...plan.states, ...plan.objects]) {
    try {
      await objects.remove(key);
    } catch (error) {
      if (!(error instanceof StoreFault && error.kind === 'denied')) throw error;
      const reason = `${error.message}; pruning needs credentials that allow deletion (s3:DeleteObject)`;
      throw new StoreFault('denied', reason, { cause: error });
    }
  }
  return true;
}
