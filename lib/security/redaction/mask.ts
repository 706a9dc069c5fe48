/** The replacement of a secret. */
export const MASK = '[redacted]';

/**
 * Stands for each character of a mask while rules search: it is not part of any word, name or value, so that
 * nothing is masked twice.
 */
export const BARRIER = '\0';
export const MASKED = BARRIER.repeat(MASK.length);
