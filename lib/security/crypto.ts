import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Compares two secrets in constant time. Both are hashed first, to hide their lengths too.
 */
export function secretsEqual(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
