/** An object of a store. */
export interface StoredObject {
  key: string;
  sizeBytes: number;
  /** When it was stored, in milliseconds since the epoch, by the clock of the store. */
  storedMs: number;
}

/** A finished file that becomes an object. */
export interface ObjectFile {
  path: string;
  sizeBytes: number;
  /** Of exactly the bytes that are stored, in hexadecimal. */
  sha256: string;
}

/** A place away from this machine that keeps immutable objects by name. All methods throw StoreFault. */
export interface ObjectStore {
  /** For messages; without parameters. */
  readonly address: string;
  /** Objects whose keys begin with a prefix and come after `after`, in the order of their keys. */
  list(prefix: string, after?: string): AsyncIterable<StoredObject>;
  /** The bytes of an object from an offset on; null if there is none. */
  read(key: string, from?: number): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Stores a file under a key that nothing has yet, and has the store confirm its SHA-256 as far as it can. False
   * if the key is taken. Nobody sees half an object. An interrupted large upload is resumed.
   */
  create(key: string, file: ObjectFile): Promise<boolean>;
  /** Removes an object, if it is there. */
  remove(key: string): Promise<void>;
  /**
   * Only of a store that keeps what was created and removed to itself until then: makes all of it permanent, at once.
   * Returns keys that were taken in the meantime, whose objects were not stored. If it throws, nothing was stored.
   */
  commit?(): Promise<readonly string[]>;
  /** Says which objects will be read soon, for a store that can fetch many at once. */
  prepare?(keys: readonly string[]): Promise<void>;
  /** Removes temporary files. */
  close?(): Promise<void>;
}

/**
 * Why a store could not be used: `away` (nobody answers, or it is overloaded), `denied` (credentials), `missing`
 * (no such bucket or folder), `full`, `damaged` (other bytes than those that were sent), `other`.
 */
export type StoreFaultKind = 'away' | 'denied' | 'missing' | 'full' | 'damaged' | 'other';

/** A failure of a store. The message names the store and never a credential. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';
  readonly kind: StoreFaultKind;

  constructor(kind: StoreFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
