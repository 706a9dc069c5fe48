/** What stands where a secret was. */
export const MASK = '[redacted]';

/**
 * What a mask looks like to the rules, a sign for a sign: it belongs to no word, name or value, so that
 * nothing is masked twice.
 */
export const BARRIER = '\0';
export const MASKED = BARRIER.repeat(MASK.length);
