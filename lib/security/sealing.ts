import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts texts bound to an owner. */
export interface Sealing {
  seal(text: string, owner: string): string;
  /**
   * Decrypts a text; null when it was sealed for another owner or with an unknown key, or was tampered with.
   * `isCurrent` is false when an old key was needed: seal it again.
   */
  unseal(sealed: string, owner: string): { text: string; isCurrent: boolean } | null;
}

/** The kind of sealed text, so that one kind is never mistaken for another. */
export type SealedThing = 'gateway key' | 'alert channel' | 'signing key';

const CIPHER = 'aes-256-gcm';
const VERSION = 'v1';
const [NONCE_BYTES, TAG_BYTES] = [12, 16];

/**
 * AES-256-GCM with a random nonce; kind and owner are associated data. `keys` is CREDENTIALS_ENCRYPTION_KEY: 32 bytes
 * in base64 or hex, or `new,old`. The first key seals, any of them unseals.
 */
export function createSealing(keys: string, what: SealedThing): Sealing {
  const [current, ...former] = keys.split(',').map(parseKey);
  const dataOf = (owner: string) => Buffer.from(`${what} of ${owner}`, 'utf8');
  if (!current) throw new Error('there is no key to encrypt with');
  return {
    seal(text, owner) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, current, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(dataOf(owner));
      const sealed = Buffer.concat([
        nonce,
        cipher.update(text, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
      return `${VERSION}.${sealed.toString('base64url')}`;
    },
    unseal(sealed, owner) {
      for (const [index, key] of [current, ...former].entries()) {
        const text = decrypt(sealed, dataOf(owner), key);
        if (text !== null) return { text, isCurrent: index === 0 };
      }
      return null;
    },
  };
}

function decrypt(sealed: string, data: Buffer, key: Buffer): string | null {
  const [version, encoded = ''] = sealed.split('.');
  const bytes = Buffer.from(encoded, 'base64url');
  if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(data);
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    // Not authentic: another key, another owner, or changed.
    return null;
  }
}

function parseKey(text: string): Buffer {
  const trimmed = text.trim();
  return Buffer.from(trimmed, trimmed.length === 64 ? 'hex' : 'base64');
}
