import type { DecryptionFailed } from '../base/age-payload.ts';
import { StoreFault } from '../base/object-store.ts';

/**
 * What is wrong with an object: it is `missing`, `damaged`, or `locked` (no identity can decrypt it), or the store
 * `refused` to return it.
 */
export type ObjectFaultKind = 'missing' | 'damaged' | 'locked' | 'refused';

/** An object that is missing or not as expected. The message contains its key. */
export class ObjectFault extends Error {
  override readonly name = 'ObjectFault';
  readonly kind: ObjectFaultKind;
  readonly key: string;
  readonly reason: string;

  constructor(kind: ObjectFaultKind, key: string, reason: string, options?: ErrorOptions) {
    super(`${key} ${reason}`, options);
    this.kind = kind;
    this.key = key;
    this.reason = reason;
  }
}

/** The fault of an object that cannot be decrypted. */
export function undecrypted(key: string, cause: DecryptionFailed): ObjectFault {
  const [kind, reason] = cause.isLocked
    ? (['locked', 'it is encrypted for other identities, or it was altered'] as const)
    : (['damaged', 'it was altered or cut short'] as const);
  return new ObjectFault(kind, key, `cannot be decrypted: ${reason}`, { cause });
}

/** Whether the store answered but refused the request. */
export function isRefusal(error: unknown): error is StoreFault {
  return error instanceof StoreFault && (error.kind === 'other' || error.kind === 'denied');
}

/**
 * Performs work that needs one object. A refusal of this object says nothing about the others, so it becomes an
 * ObjectFault.
 */
export async function withObject<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new ObjectFault('refused', key, `was refused: ${error.message}`, { cause: error });
  }
}
