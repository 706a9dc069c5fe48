import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Compares two secrets in a time that depends on neither. Both are hashed first, so that their lengths
 * do not show either.
 */
export function secretsEqual(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
