import { GitError } from '../../git/git.ts';
import type { GitStoreAccess } from '../../stores/git/git-store-options.ts';
import { measureRepository, type NeededKeys, startAnew } from '../../stores/git/start-anew.ts';
import { StoreFault } from '../../stores/object-store.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import { cleanText } from '../../text/clean-text.ts';
import { formatBytes } from '../../text/units.ts';
import type { Ledger } from './ledger.ts';
import type { Note } from './sender.ts';

export interface ShrinkOptions {
  store: OpenStore;
  ledger: Ledger;
  access: GitStoreAccess;
  maxBytes: number;
  signal: AbortSignal;
}

/** Replaces a git repository that exceeds its size limit with a fresh one, and logs the outcome. */
export async function shrink(options: ShrinkOptions, note: Note): Promise<void> {
  const { store, ledger, access, maxBytes, signal } = options;
  const { repository, address, folder } = store;
  if (repository === null || address.kind !== 'git') return;
  const context = { repository, address, access, signal };
  const limit = `BACKUP_REPO_MAX_SIZE is ${formatBytes(maxBytes)}`;
  try {
    const before = await measureRepository(context);
    if (before <= maxBytes) return;
    const has = `${address.text} has ${formatBytes(before)}, and ${limit}`;
    const why = await startAnew({ ...context, folder, needed: await readNeeded(ledger) });
    if (why !== null) {
      await note('warn', cleanText(`${has}: it was not started anew, because ${why}`));
      return;
    }
    const after = formatBytes(await measureRepository(context));
    await note('info', `${has}: it was started anew and has ${after} now`);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof StoreFault || error instanceof GitError)) throw error;
    await note('warn', cleanText(`the destination could not be started anew: ${error.message}`));
  }
}

/** What the newest state that this machine stored of each archive needs. */
async function readNeeded(ledger: Ledger): Promise<NeededKeys[]> {
  const needed: NeededKeys[] = [];
  for await (const { archive_name: archiveName, state, files } of ledger.list()) {
    if (state === null) continue;
    const keys = [state.key, ...files.map(({ key }) => key)];
    needed.push({ archiveName, number: state.number, keys });
  }
  return needed;
}
