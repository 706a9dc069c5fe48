import { describe, expect, it } from 'vitest';
import {
  fingerprintHash,
  hashPassword,
  renewHash,
  verifyPassword,
} from '../../lib/security/password.ts';
import { olderHash } from '../support/passwords.ts';

describe('verifyPassword', () => {
  it('is true only for the password of a hash', async () => {
    const hash = await hashPassword('correct horse');
    expect(await verifyPassword('correct horse', hash)).toBe(true);
    expect(await verifyPassword('correct horse ', hash)).toBe(false);
    expect(await verifyPassword('', hash)).toBe(false);
  });

  it('is false without a hash', async () => {
    expect(await verifyPassword('correct horse', null)).toBe(false);
  });

  it('uses the cost stored in the hash, so that it can be raised', async () => {
    const hash = olderHash('correct horse', { N: 1024 });
    expect(await verifyPassword('correct horse', hash)).toBe(true);
  });

  it('costs three rounds of 32 MiB', async () => {
    expect(await hashPassword('correct horse')).toMatch(/^scrypt\$32768\$8\$3\$/);
  });

  it.each([
    '',
    'plain text',
    'scrypt$32768$8$1$$',
    'scrypt$99999999$8$1$c2FsdHNhbHRzYWx0c2FsdA==$c2FsdHNhbHRzYWx0c2FsdA==',
    'scrypt$1048576$8$1$c2FsdHNhbHRzYWx0c2FsdA==$c2FsdHNhbHRzYWx0c2FsdA==',
    'scrypt$2$1$999$c2FsdHNhbHRzYWx0c2FsdA==$c2FsdHNhbHRzYWx0c2FsdA==',
  ])('throws for %j, which is malformed or too expensive', async (hash) => {
    await expect(verifyPassword('x', hash)).rejects.toThrow('a stored password hash is malformed');
  });
});

describe('renewHash', () => {
  const hashOf = (p: number) => olderHash('correct horse', { p });

  it('upgrades an older hash and keeps tokens valid', async () => {
    const renewed = (await renewHash('correct horse', hashOf(1))) ?? '';
    expect(renewed).toMatch(/^scrypt\$32768\$8\$3\$/);
    expect(await verifyPassword('correct horse', renewed)).toBe(true);
    expect(fingerprintHash(renewed)).toBe(fingerprintHash(hashOf(1)));
  });

  it('keeps a hash with the same or a higher cost', async () => {
    expect(await renewHash('correct horse', hashOf(3))).toBeNull();
    expect(await renewHash('correct horse', hashOf(4))).toBeNull();
  });
});

it('fingerprintHash differs for two passwords, and for two users with the same password', async () => {
  const [one, other] = await Promise.all([hashPassword('same'), hashPassword('same')]);
  expect(fingerprintHash(one)).not.toBe(fingerprintHash(other));
});
