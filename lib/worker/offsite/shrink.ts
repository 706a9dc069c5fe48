import type { Clock } from '../../clock.ts';
import { GitError } from '../../git/git.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import type { GitStoreAccess } from '../../stores/git/git-store-options.ts';
import { measureRepository, startAnew } from '../../stores/git/start-anew.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import { cleanText } from '../../text/clean-text.ts';
import { firstOf, formatBytes } from '../../text/units.ts';
import type { Ledger } from './ledger.ts';
import type { Note } from './sender.ts';
import { findUnneeded } from './unneeded.ts';

export interface ShrinkOptions {
  store: OpenStore;
  ledger: Ledger;
  access: GitStoreAccess;
  maxBytes: number;
  clock: Clock;
  signal: AbortSignal;
}

/** Replaces a git repository that exceeds its size limit with a fresh one, and logs the outcome. */
export async function shrink(options: ShrinkOptions, note: Note): Promise<void> {
  const { store, ledger, access, maxBytes, clock, signal } = options;
  const { repository, address, folder } = store;
  if (repository === null || address.kind !== 'git') return;
  const context = { repository, address, access, signal };
  const limit = `BACKUP_REPO_MAX_SIZE is ${formatBytes(maxBytes)}`;
  try {
    const before = await measureRepository(context);
    if (before <= maxBytes) return;
    const has = `${address.text} has ${formatBytes(before)}, and ${limit}`;
    const reading = { objects: store.objects, clock, signal };
    const { needed, dropped, held } = await findUnneeded(reading, ledger);
    const hint =
      held.length === 0
        ? ''
        : `. Older states of ${firstOf(held)} are kept, because they may have versions that the newest one lacks: \`npm run worker -- store prune\` removes those of before a day that you choose`;
    const why = await startAnew({ ...context, folder, needed, dropped });
    if (why !== null) {
      await note('warn', cleanText(`${has}: it was not started anew, because ${why}${hint}`));
      return;
    }
    const after = await measureRepository(context);
    const outcome = `${has}: it was started anew and has ${formatBytes(after)} now`;
    if (after <= maxBytes) await note('info', outcome);
    else await note('warn', cleanText(`${outcome}, all of which is needed${hint}`));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof StoreFault || error instanceof GitError)) throw error;
    await note('warn', cleanText(`the destination could not be started anew: ${error.message}`));
  }
}
