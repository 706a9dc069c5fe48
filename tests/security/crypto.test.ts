import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { secretsEqual } from '../../lib/security/crypto.ts';

describe('secretsEqual', () => {
  it('is true only for equal secrets, whatever their lengths', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (given, expected) => {
        expect(secretsEqual(given, expected)).toBe(given === expected);
        expect(secretsEqual(given, given)).toBe(true);
      }),
    );
  });
});
