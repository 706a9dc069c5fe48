import QuickLRU from 'quick-lru';
import { onOwnBehalf } from '../../caller.ts';
import type { Clock } from '../../clock.ts';
import type { BadgeFacts } from '../../records/badges/badge-facts.ts';
import type { StatusFacts } from '../../records/status-pages/status-facts.ts';

const KEPT_MS = 30_000;
const MAX_KEPT = 200;

/** Reads what a badge shows for one repository, or for all if null. */
export type ReadFacts = (repository: string | null) => Promise<BadgeFacts>;

/** Reads what a status page shows, by the JSON of its rows. */
export type ReadStatus = (shows: string) => Promise<readonly StatusFacts[]>;

/** Caches facts for 30 seconds, so that public requests cost little. */
export function shareFacts<Key extends string | null, Facts>(
  read: (key: Key) => Promise<Facts>,
  clock: Clock,
): (key: Key) => Promise<Facts> {
  const kept = new QuickLRU<string, { at: number; facts: Promise<Facts> }>({ maxSize: MAX_KEPT });
  return (asked) => {
    const key = asked ?? '';
    const known = kept.get(key);
    if (known && clock.now() - known.at < KEPT_MS) return known.facts;
    const facts = onOwnBehalf(() => read(asked));
    kept.set(key, { at: clock.now(), facts });
    facts.catch(() => kept.delete(key));
    return facts;
  };
}
