import type { Schemas } from '../../api/client.ts';
import { countOf } from '../../parts/format.ts';

/** What is kept of a repository, as far as a run has seen. */
export type Kept = Schemas['TrackedRepository']['archive'];

/** Says in a sentence or two what is kept of a repository. `isGone`: the server looked, and found no archive. */
export function describeKept({ state, copies }: Kept, isGone = false): string {
  const stores = countOf(copies, 'store has', 'stores have');
  const inStores = `${stores} a copy, which can be restored with --from.`;
  if (state === 'missing' || (isGone && state !== 'none')) {
    const gone = 'Its archive is gone from the archive folder.';
    return copies === 0 ? `${gone} Nothing is kept: no store has a copy.` : `${gone} ${inStores}`;
  }
  if (state === 'incomplete') {
    const part = 'A file of its archive is missing; its other files are kept.';
    return copies === 0 ? `${part} No store has a copy.` : `${part} ${inStores}`;
  }
  if (state === 'there') return 'Its backups are kept.';
  if (copies > 0) return inStores;
  return state === 'none'
    ? 'Nothing is kept: no archive of it was ever recorded.'
    : 'An archive was recorded, but no run has looked whether it is still there.';
}

/** Whether nothing of a repository is kept. */
export function isNothingKept({ state, copies }: Kept, isGone = false): boolean {
  return copies === 0 && (state === 'missing' || state === 'none' || isGone);
}
