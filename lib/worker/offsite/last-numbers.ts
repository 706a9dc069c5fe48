import { loadOnce } from '../../async.ts';
import { keysOf, parseKey } from '../../stores/base/layout.ts';
import type { ObjectStore } from '../../stores/base/object-store.ts';

/** How many keys are listed at once. Archives after them are looked up one by one. */
const MAX_LISTED = 20_000;

/**
 * Finds the number of the last state of archives that this machine has no record of: another machine may have stored
 * them, and their first states may be pruned. One listing covers most archives. The function throws StoreFault.
 */
export function createLastNumbers(objects: ObjectStore): (archiveName: string) => Promise<number> {
  const listed = loadOnce(async () => {
    const numbers = new Map<string, number>();
    let count = 0;
    let last = '';
    for await (const { key } of objects.list(keysOf())) {
      note(numbers, key);
      last = key;
      if (++count >= MAX_LISTED) return { numbers, last };
    }
    return { numbers, last: null };
  });
  return async (archiveName) => {
    const { numbers, last } = await listed();
    // Every key of an archive starts with its folder name and a slash, and so sorts before the name with the next
    // character.
    const isListed = last === null || `${keysOf(archiveName).slice(0, -1)}0` <= last;
    return isListed ? (numbers.get(archiveName) ?? 0) : findLastNumber(objects, archiveName, 0);
  };
}

/** The number of the last state of an archive, or `from` if that is higher. Throws StoreFault. */
export async function findLastNumber(
  objects: ObjectStore,
  archiveName: string,
  from: number,
): Promise<number> {
  const numbers = new Map([[archiveName, from]]);
  for await (const { key } of objects.list(`${keysOf(archiveName)}states/`)) note(numbers, key);
  return numbers.get(archiveName) ?? from;
}

function note(numbers: Map<string, number>, key: string): void {
  const parsed = parseKey(key);
  if (parsed?.kind !== 'state') return;
  const { archiveName, number } = parsed;
  numbers.set(archiveName, Math.max(number, numbers.get(archiveName) ?? 0));
}
