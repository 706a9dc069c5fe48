import { createHmac } from 'node:crypto';

/** The naming scheme of a store. */
export interface Naming {
  /** The name of an archive in keys. `archive` is its file name in the archive folder. */
  archive(archive: string): string;
  /** The part of an object's name that identifies its content, derived from the content's SHA-256. */
  content(sha256: string): string;
}

/** The suffix of encrypted objects' names. */
const ENCRYPTED = '.age';

/** The object that explains how to restore by hand. */
export const README_KEY = 'README.txt';

const ROOT = 'archives/';

/** Names that anyone can read: archives by their names, content by its SHA-256. */
export const plainNaming: Naming = {
  archive: (archive) => archive.replace(/\.bundle$/, ''),
  content: (sha256) => sha256,
};

/** Names that reveal nothing without the key, and are deterministic. */
export function createSecretNaming(key: string): Naming {
  const digest = (what: string, text: string) =>
    createHmac('sha256', key).update(`${what}\0${text}`).digest('hex').slice(0, 40);
  return {
    archive: (archive) => digest('archive', archive),
    content: (sha256) => digest('content', sha256),
  };
}

/** The prefix of all keys, or of one archive's keys. */
export function keysOf(archiveName?: string): string {
  return archiveName === undefined ? ROOT : `${ROOT}${archiveName}/`;
}

/** The archive that a key or key prefix belongs to; null if it does not say. */
export function archiveNameOf(key: string): string | null {
  if (!key.startsWith(ROOT)) return null;
  const end = key.indexOf('/', ROOT.length);
  return end < 0 ? null : key.slice(ROOT.length, end);
}

/** The highest state number. */
export const MAX_STATE_NUMBER = 99_999_999;

/** The key of a state of an archive. States are numbered from 1. */
export function stateKey(archiveName: string, number: number, isEncrypted: boolean): string {
  const digits = String(number).padStart(8, '0');
  return `${keysOf(archiveName)}states/${digits}.json${isEncrypted ? ENCRYPTED : ''}`;
}

/**
 * The key of an object. The name of an encrypted object ends with the SHA-256 of the stored bytes, so that it can be
 * checked without decrypting.
 */
export function objectKey(
  archiveName: string,
  content: string,
  encryptedSha256: string | null,
): string {
  const name = encryptedSha256 === null ? content : `${content}-${encryptedSha256}${ENCRYPTED}`;
  return `${keysOf(archiveName)}objects/${name}`;
}

/** The kinds of keys. */
export type ParsedKey =
  | { kind: 'state'; archiveName: string; number: number; isEncrypted: boolean }
  | {
      kind: 'object';
      archiveName: string;
      content: string;
      /** SHA-256 of the stored bytes. */
      sha256: string;
      isEncrypted: boolean;
    };

// A file name can have 255 bytes.
const stateForm = /^archives\/([^/]{1,255})\/states\/(\d{8})\.json(\.age)?$/;
const objectForm =
  /^archives\/([^/]{1,255})\/objects\/(?:([0-9a-f]{40})-([0-9a-f]{64})\.age|([0-9a-f]{64}))$/;

/** Null if the key is not ours. */
export function parseKey(key: string): ParsedKey | null {
  const state = stateForm.exec(key);
  if (state !== null) {
    const [, archiveName = '', digits, age] = state;
    return { kind: 'state', archiveName, number: Number(digits), isEncrypted: age !== undefined };
  }
  const object = objectForm.exec(key);
  if (object === null) return null;
  const [, archiveName = '', secret, stored, plain = ''] = object;
  const isEncrypted = secret !== undefined && stored !== undefined;
  const content = isEncrypted ? secret : plain;
  return {
    kind: 'object',
    archiveName,
    content,
    sha256: isEncrypted ? stored : plain,
    isEncrypted,
  };
}
