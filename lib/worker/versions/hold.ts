import type { VersionEntry } from '../../archives/note.ts';

/** What holds back pruning: anomalies that nobody has confirmed yet. */
export interface Hold {
  /** Why no version may be pruned; null if there is no such reason. */
  all: string | null;
  /** By the numbers of versions: whether everything that was seen in one is confirmed. */
  confirmed: ReadonlyMap<number, boolean>;
}

/** The hold of a run that cannot ask what was confirmed. */
export const HOLD_ALL: Hold = {
  all: 'the database, which knows what was confirmed, is away',
  confirmed: new Map(),
};

/** Whether a version holds back itself and all older ones. What its note alone warns of is not confirmed. */
export function holdsBack({ confirmed }: Hold, { version, warning }: VersionEntry): boolean {
  return !(confirmed.get(version) ?? warning === null);
}
