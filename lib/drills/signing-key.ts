import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';
import {
  addSigningKey,
  readSigningKey,
  replaceSigningKey,
  resealSigningKey,
  type SigningKeyRow,
} from '../records/drills/signing-keys.ts';
import { createSealing, type Sealing } from '../security/sealing.ts';

/** The key that signs the results of drills. */
export interface Signer {
  /** The SHA-256 of the public key (DER), in hexadecimal. */
  id: string;
  /** Signs with Ed25519: 64 bytes. */
  sign(bytes: Buffer): Buffer;
}

/** CREDENTIALS_ENCRYPTION_KEY, which seals the private key; undefined if it is not set. */
export type SealingKeys = string | undefined;

/** Why nothing can be signed. */
export type SigningFault = 'no secret' | 'other secret';

const faults: Record<SigningFault, string> = {
  'no secret': 'CREDENTIALS_ENCRYPTION_KEY is not set: without it, no signing key can be kept',
  'other secret':
    'the signing key was encrypted with another CREDENTIALS_ENCRYPTION_KEY: restore that one, or replace the signing key',
};

/** Describes why nothing can be signed. */
export const describeSigningFault = (fault: SigningFault): string => faults[fault];

/**
 * Opens the key that all servers of a database share, and makes it if there is none. Returns the fault if it cannot be
 * opened.
 */
export async function openSigner(db: Database, keys: SealingKeys): Promise<Signer | SigningFault> {
  if (keys === undefined) return 'no secret';
  const sealing = createSealing(keys, 'signing key');
  let row = await readSigningKey(db);
  if (row === null) {
    await addSigningKey(db, makeKey(sealing));
    row = await readSigningKey(db);
  }
  if (row === null) throw new Error('the signing key is not there after it was added');
  const opened = sealing.unseal(row.sealed_private_key, row.id);
  if (opened === null) return 'other secret';
  if (!opened.isCurrent) {
    const to = sealing.seal(opened.text, row.id);
    await resealSigningKey(db, row.id, { from: row.sealed_private_key, to });
  }
  const key = createPrivateKey(opened.text);
  return { id: row.id, sign: (bytes) => sign(null, bytes, key) };
}

/** Why the signing key cannot be used; null if it can, or will be made. Changes nothing. */
export async function findSigningFault(
  db: Database,
  keys: SealingKeys,
): Promise<SigningFault | null> {
  if (keys === undefined) return 'no secret';
  const row = await readSigningKey(db);
  if (row === null) return null;
  const opened = createSealing(keys, 'signing key').unseal(row.sealed_private_key, row.id);
  return opened === null ? 'other secret' : null;
}

/**
 * Replaces the current key, or makes the first one, and returns the id of the new one. The private part of the former
 * key is deleted; its public part stays, for the statements that it signed. Throws CREDENTIAL_STORAGE_UNAVAILABLE
 * without CREDENTIALS_ENCRYPTION_KEY, and CONFLICT if the key was replaced at the same time.
 */
export async function replaceSigner(db: Database, keys: SealingKeys, by: string): Promise<string> {
  if (keys === undefined) {
    throw new AppError('CREDENTIAL_STORAGE_UNAVAILABLE', describeSigningFault('no secret'));
  }
  const key = makeKey(createSealing(keys, 'signing key'));
  const former = await readSigningKey(db);
  if (former === null) await addSigningKey(db, key, by);
  else if (!(await replaceSigningKey(db, former.id, key, by))) {
    throw new AppError('CONFLICT', 'the signing key has just been replaced by somebody else');
  }
  return key.id;
}

function makeKey(sealing: Sealing): SigningKeyRow {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const id = idOf(publicKey);
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    id,
    public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    sealed_private_key: sealing.seal(secret, id),
  };
}

function idOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/** A public key of the database, if it is the one that its id names; null otherwise. */
export function readVerifier(id: string, pem: string | null): KeyObject | null {
  if (pem === null) return null;
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === 'ed25519' && idOf(key) === id ? key : null;
  } catch {
    // Not a key: it was altered.
    return null;
  }
}
