import { posix } from 'node:path';

const MAX_LENGTH = 200;
/** Limit per part between slashes: matching time grows with the length of a name to this power. */
const MAX_STARS = 3;
const MAX_BRACES = 2;

/** What is wrong with a pattern, starting with a verb; null if nothing is. Its limits bound the time of a match. */
export function patternFault(text: string): string | null {
  const count = (character: string, part = text) => part.split(character).length - 1;
  if (text === '' || text.length > MAX_LENGTH) return `must have 1 to ${MAX_LENGTH} characters`;
  if (/[()!#]/.test(text)) return 'may only use *, ?, […] and {a,b} as wildcards';
  const isStarry = text.split('/').some((part) => count('*', part) > MAX_STARS);
  if (isStarry || count('*') > 2 * MAX_STARS) return `may have at most ${MAX_STARS} * in each part`;
  if (count('{') > MAX_BRACES) return `may have at most ${MAX_BRACES} {`;
  return null;
}

/**
 * Whether a pattern matches a name, in any case. A pattern without a slash is matched against the part after the
 * owner. `*` does not match a slash; `**` does.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  const whole = pattern.includes('/') ? name : name.slice(name.lastIndexOf('/') + 1);
  return posix.matchesGlob(plain(whole), plain(pattern));
}

/** Lets `*` match a name that begins with a dot too. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll('.', '\u0001');
}
