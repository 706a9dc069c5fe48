/**
 * What is wrong with an object: it is `missing`, it is `damaged`, it is `locked` (no identity can decrypt it), or the
 * store `refused` it.
 */
export type ObjectFaultKind = 'missing' | 'damaged' | 'locked' | 'refused';

/** An object that is not there, or not what it must be. The message names its key. */
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
