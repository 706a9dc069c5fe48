import { scryptSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashPassword, verifyPassword } from '../../lib/platform/password.ts';

describe('verifyPassword', () => {
  it('is true for the password of a hash and false for any other', async () => {
    const hash = await hashPassword('correct horse');
    expect(await verifyPassword('correct horse', hash)).toBe(true);
    expect(await verifyPassword('correct horse ', hash)).toBe(false);
    expect(await verifyPassword('', hash)).toBe(false);
  });

  it('is false without a hash', async () => {
    expect(await verifyPassword('correct horse', null)).toBe(false);
  });

  it('takes the costs of the hash, so that they can be raised', async () => {
    const salt = Buffer.alloc(16, 5);
    const key = scryptSync('correct horse', salt, 32, { N: 1024, r: 8, p: 1 });
    const hash = ['scrypt', 1024, 8, 1, salt.toString('base64'), key.toString('base64')].join('$');
    expect(await verifyPassword('correct horse', hash)).toBe(true);
  });

  it.each([
    '',
    'plain text',
    'scrypt$32768$8$1$$',
    'scrypt$99999999$8$1$c2FsdHNhbHRzYWx0c2FsdA==$c2FsdHNhbHRzYWx0c2FsdA==',
    'scrypt$1048576$8$1$c2FsdHNhbHRzYWx0c2FsdA==$c2FsdHNhbHRzYWx0c2FsdA==',
    'scrypt$2$1$999$c2FsdHNhbHRzYWx0c2FsdA==$c2FsdHNhbHRzYWx0c2FsdA==',
  ])('throws for %j, which is no hash or costs too much', async (hash) => {
    await expect(verifyPassword('x', hash)).rejects.toThrow('a stored password hash is malformed');
  });
});
