import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSealing } from '../../lib/security/sealing.ts';

const [one, two] = [randomBytes(32), randomBytes(32)];
const sealing = createSealing(one.toString('base64'), 'gateway key');
const KEY = 'sk-or-v1-a-key-of-ada';

describe('sealing', () => {
  it('returns a text to its owner', () => {
    expect(sealing.unseal(sealing.seal(KEY, 'ada'), 'ada')).toEqual({ text: KEY, isCurrent: true });
  });

  it('never produces the same sealed text twice, or text that shows the key', () => {
    const sealed = [sealing.seal(KEY, 'ada'), sealing.seal(KEY, 'ada')];
    expect(sealed[0]).not.toBe(sealed[1]);
    for (const text of sealed) {
      expect(Buffer.from(text.slice(3), 'base64url').includes(KEY)).toBe(false);
    }
  });

  it.each([['grace'], ['ad'], ['']])('returns nothing to %j', (owner) => {
    expect(sealing.unseal(sealing.seal(KEY, 'ada'), owner)).toBeNull();
  });

  it('returns nothing if any byte was changed', () => {
    const bytes = Buffer.from(sealing.seal(KEY, 'ada').slice(3), 'base64url');
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
      expect(sealing.unseal(`v1.${changed.toString('base64url')}`, 'ada')).toBeNull();
    }
  });

  it.each(['', 'v1.', 'v1.AAAA', 'v2.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', KEY])(
    'returns nothing for %j',
    (text) => {
      expect(sealing.unseal(text, 'ada')).toBeNull();
    },
  );

  it('returns nothing for another kind of sealed text of the owner', () => {
    const channels = createSealing(one.toString('base64'), 'alert channel');
    expect(channels.unseal(sealing.seal(KEY, 'ada'), 'ada')).toBeNull();
    expect(channels.unseal(channels.seal(KEY, 'ada'), 'ada')?.text).toBe(KEY);
  });

  it('accepts keys in hex and base64', () => {
    const hex = createSealing(one.toString('hex'), 'gateway key');
    expect(hex.unseal(sealing.seal(KEY, 'ada'), 'ada')?.text).toBe(KEY);
  });

  it('unseals with a former key and seals with the new one', () => {
    const rotating = createSealing(
      `${two.toString('base64')}, ${one.toString('base64')}`,
      'gateway key',
    );
    const old = sealing.seal(KEY, 'ada');
    expect(rotating.unseal(old, 'ada')).toEqual({ text: KEY, isCurrent: false });
    const renewed = rotating.seal(KEY, 'ada');
    expect(
      createSealing(two.toString('hex'), 'gateway key').unseal(renewed, 'ada')?.isCurrent,
    ).toBe(true);
    expect(sealing.unseal(renewed, 'ada')).toBeNull();
  });
});
