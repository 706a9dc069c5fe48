import QuickLRU from 'quick-lru';
import { onOwnBehalf } from '../../caller.ts';
import type { Clock } from '../../clock.ts';
import type { BadgeFacts } from '../../records/badges/badge-facts.ts';

const KEPT_MS = 30_000;
const MAX_KEPT = 200;

/** Reads what a badge shows for one repository, or for all if null. */
export type ReadFacts = (repository: string | null) => Promise<BadgeFacts>;

/** Caches facts for 30 seconds, so that public requests for a badge cost little. */
export function shareFacts(read: ReadFacts, clock: Clock): ReadFacts {
  const kept = new QuickLRU<string, { at: number; facts: Promise<BadgeFacts> }>({
    maxSize: MAX_KEPT,
  });
  return (repository) => {
    const key = repository ?? '';
    const known = kept.get(key);
    if (known && clock.now() - known.at < KEPT_MS) return known.facts;
    const facts = onOwnBehalf(() => read(repository));
    kept.set(key, { at: clock.now(), facts });
    facts.catch(() => kept.delete(key));
    return facts;
  };
}
