/** An object in a store. */
export interface StoredObject {
  key: string;
  sizeBytes: number;
  /** When it was stored, in milliseconds since the epoch, by the store's clock. */
  storedMs: number;
}

/** A finished file to store as an object. */
export interface ObjectFile {
  path: string;
  sizeBytes: number;
  /** SHA-256 of exactly the bytes that are stored, in hexadecimal. */
  sha256: string;
}

/** Keeps immutable objects by name, away from this machine. All methods throw StoreFault. */
export interface ObjectStore {
  /** The address for messages, without parameters. */
  readonly address: string;
  /** Objects whose keys begin with a prefix and sort after `after`, in key order. */
  list(prefix: string, after?: string): AsyncIterable<StoredObject>;
  /** The bytes of an object from an offset; null if there is no such object. */
  read(key: string, from?: number): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Stores a file under an unused key, and has the store confirm its SHA-256 as far as it can. False if the key is
   * taken. A partial object is never visible. An interrupted large upload is resumed.
   */
  create(key: string, file: ObjectFile): Promise<boolean>;
  /** Removes an object if it exists. */
  remove(key: string): Promise<void>;
  /**
   * Only for a store that buffers what was created and removed: makes all of it permanent in one step. Returns keys
   * that were taken in the meantime, whose objects were not stored. If it throws, nothing was stored.
   */
  commit?(): Promise<readonly string[]>;
  /** Announces which objects will be read soon, for a store that can fetch many at once. */
  prepare?(keys: readonly string[]): Promise<void>;
  /** Removes temporary files. */
  close?(): Promise<void>;
}

/**
 * Why a store could not be used: `away` (it does not answer or is overloaded), `denied` (credentials), `missing` (no
 * such bucket or folder), `full`, `damaged` (other bytes than were sent), `other`.
 */
export type StoreFaultKind = 'away' | 'denied' | 'missing' | 'full' | 'damaged' | 'other';

/** A failure of a store. The message names the store and never contains a credential. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';
  readonly kind: StoreFaultKind;

  constructor(kind: StoreFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
