import type { ObjectPart } from './parts.ts';
import type { RepositoryClone } from './repository-clone.ts';

/** How many bytes one fetch requests. */
const MAX_BATCH_BYTES = 256 * 2 ** 20;
const MAX_BATCH = 5_000;

/**
 * Fetches blobs into a new clone without files: requests made during a fetch are combined into the next one. The
 * function throws GitError.
 */
export function createBlobFetcher(
  clone: RepositoryClone,
): (wanted: readonly Pick<ObjectPart, 'id' | 'bytes'>[]) => Promise<void> {
  // Tracked here, because asking git about a missing blob would be an error.
  const there = new Set<string>();
  const waiting = new Map<string, number>();
  let running: Promise<void> = Promise.resolve();

  async function fetchWaiting(): Promise<void> {
    while (waiting.size > 0) {
      const batch: string[] = [];
      let bytes = 0;
      for (const [id, size] of waiting) {
        if (batch.length > 0 && (bytes + size > MAX_BATCH_BYTES || batch.length === MAX_BATCH))
          break;
        bytes += size;
        batch.push(id);
      }
      for (const id of batch) waiting.delete(id);
      await fetch(batch);
    }
  }

  async function fetch(ids: readonly string[]): Promise<void> {
    // Skip negotiation: the commits here say nothing about which blobs are here.
    const args = ['-c', 'fetch.negotiationAlgorithm=noop', 'fetch', '--quiet', 'origin'];
    const plain = ['--no-tags', '--no-write-fetch-head', '--recurse-submodules=no'];
    const only = ['--refmap=', '--filter=blob:none', '--stdin'];
    await clone.transfer([...args, ...plain, ...only], { stdin: `${ids.join('\n')}\n` });
    for (const id of ids) there.add(id);
  }

  return async (wanted) => {
    let isNew = false;
    for (const { id, bytes } of wanted) {
      if (there.has(id)) continue;
      waiting.set(id, bytes);
      isNew = true;
    }
    if (!isNew) return;
    const mine = running.catch(() => undefined).then(fetchWaiting);
    running = mine;
    // The fetch that included it may have failed because of another request, such as one for a missing blob.
    await mine.catch(() => undefined);
    const lost = wanted.flatMap(({ id }) => (there.has(id) ? [] : [id]));
    if (lost.length > 0) await fetch(lost);
  };
}
