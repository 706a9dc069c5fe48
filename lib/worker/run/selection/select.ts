import { matchesPattern } from '../../../text/name-pattern.ts';
import type { Source } from '../../base/source.ts';

/** A name pattern, and the option or variable that it comes from. */
export interface Pattern {
  text: string;
  from: '--only' | '--exclude' | 'BACKUP_ONLY' | 'BACKUP_EXCLUDE';
}

/** Which repositories a run excludes. */
export interface Selection {
  /** If not empty, only repositories that match one of them are included. */
  only: readonly Pattern[];
  exclude: readonly Pattern[];
}

/** A repository excluded from a run. */
export interface LeftOut {
  source: Source;
  /** The reason for a person: `excluded by --exclude old-*`. */
  why: string;
  /** Whether a variable or its source excludes it, and not just an option of this run. */
  isLasting: boolean;
  /** Whether a pattern of its source excludes it. */
  isOfSource: boolean;
}

export interface Selected {
  selected: Source[];
  leftOut: LeftOut[];
  /** Patterns of `only` that match nothing. */
  unmatched: Pattern[];
}

/** Divides sources into those that a run backs up and those that it excludes. */
export function selectSources(sources: readonly Source[], { only, exclude }: Selection): Selected {
  const selected: Source[] = [];
  const leftOut: LeftOut[] = [];
  const unmatched = new Set(only);
  for (const source of sources) {
    const wanted = only.filter(({ text }) => matchesPattern(source.name, text));
    for (const pattern of wanted) unmatched.delete(pattern);
    const excluding = exclude.find(({ text }) => matchesPattern(source.name, text));
    const { namedBy } = source;
    const own = namedBy?.exclude.find((text) => matchesPattern(source.name, text));
    if (only.length > 0 && wanted.length === 0) {
      leftOut.push({ source, ...because('not among', only) });
    } else if (excluding) leftOut.push({ source, ...because('excluded by', [excluding]) });
    else if (namedBy && own !== undefined) {
      const why = `excluded by the pattern ${own} of ${namedBy.label}`;
      leftOut.push({ source, why, isLasting: true, isOfSource: true });
    } else selected.push(source);
  }
  return { selected, leftOut, unmatched: [...unmatched] };
}

/** `not among --only a*, b*`. */
function because(what: string, patterns: readonly Pattern[]) {
  const from = patterns[0]?.from ?? '';
  const why = `${what} ${from} ${patterns.map(({ text }) => text).join(', ')}`;
  return { why, isLasting: !from.startsWith('--'), isOfSource: false };
}

/** The selection of a run: an option replaces the corresponding variable. */
export function readSelection(
  command: { only: readonly string[] | null; exclude: readonly string[] | null },
  config: { BACKUP_ONLY: readonly string[]; BACKUP_EXCLUDE: readonly string[] },
): Selection {
  const patterns = (
    given: readonly string[] | null,
    option: Pattern['from'],
    variable: 'BACKUP_ONLY' | 'BACKUP_EXCLUDE',
  ) => {
    const from = given === null ? variable : option;
    return (given ?? config[variable]).map((text) => ({ text, from }));
  };
  return {
    only: patterns(command.only, '--only', 'BACKUP_ONLY'),
    exclude: patterns(command.exclude, '--exclude', 'BACKUP_EXCLUDE'),
  };
}
