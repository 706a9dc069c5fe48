import { createHash } from 'node:crypto';
import type { CompletedPart } from '@aws-sdk/client-s3';
import type { ObjectFile } from '../base/object-store.ts';

/** A file that was uploaded, and what shows whether the store has it. */
export interface Uploaded {
  /** Whether the store reported a SHA-256 or MD5 of each part that is right. */
  isEachProven: boolean;
  /** The SHA-256 that the store reported for the object. */
  reported: string | undefined;
  /** The forms of it that are right. */
  checksums: readonly string[];
}

/** Whether an ETag is the MD5 of some bytes. Some stores have other ETags, in the same form. */
export function isMd5Of(tag: string | undefined, bytes: Buffer): boolean {
  return tag?.replaceAll('"', '').toLowerCase() === createHash('md5').update(bytes).digest('hex');
}

/** Stores report the hash of the parts' hashes, usually followed by their number, or that of the whole object. */
export function checksumsOf(parts: readonly CompletedPart[], { sha256 }: ObjectFile): string[] {
  const hash = createHash('sha256');
  for (const { ChecksumSHA256 = '' } of parts) hash.update(ChecksumSHA256, 'base64');
  const ofParts = hash.digest('base64');
  return [ofParts, `${ofParts}-${parts.length}`, Buffer.from(sha256, 'hex').toString('base64')];
}
