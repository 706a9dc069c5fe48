import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { ByteBudget } from '../base/byte-budget.ts';
import { type ObjectFile, StoreFault } from '../base/object-store.ts';
import type { Pace } from '../base/pace.ts';
import { checksumsOf, isMd5Of, type Uploaded } from './checksums.ts';
import { isMissing, isTaken } from './s3-faults.ts';
import type { UploadNote, UploadNotes } from './upload-notes.ts';

/** All stores accept parts of at least 5 MiB, except the last, and at most 10,000 of them. */
const PART_BYTES = 8 * 2 ** 20;
const MAX_PARTS = 9_000;
/** How many parts of a file are sent concurrently. */
const AT_ONCE = 2;

export interface PartsContext {
  client: S3Client;
  bucket: string;
  address: string;
  isConditional: boolean;
  notes: UploadNotes;
  budget: ByteBudget;
  pace: Pace;
  signal: AbortSignal;
  explain(error: unknown): Promise<StoreFault>;
  onRemark(text: string): void;
}

interface UploadId {
  Bucket: string;
  Key: string;
  UploadId: string;
}

interface Part {
  number: number;
  bytes: Buffer;
  /** Base64. */
  sha256: string;
  /** To be called when the bytes are no longer needed. */
  release(): void;
}

/** Uploads a large file in parts, or the rest of it after an interruption. Null if the key is taken. */
export async function uploadInParts(
  context: PartsContext,
  key: string,
  file: ObjectFile,
): Promise<Uploaded | null> {
  const { notes } = context;
  const noted = await notes.read(key);
  if (noted?.sha256 !== file.sha256) return sendAll(context, await begin(context, key, file), file);
  try {
    return await sendAll(context, noted, file);
  } catch (error) {
    // The store dropped the upload, or lost a part.
    if (!isMissing(error, 'NoSuchUpload', 'InvalidPart')) throw error;
    await notes.remove(key);
    return sendAll(context, await begin(context, key, file), file);
  }
}

async function begin(
  { client, bucket, notes, signal }: PartsContext,
  key: string,
  { sha256, sizeBytes }: ObjectFile,
): Promise<UploadNote> {
  const { UploadId } = await client.send(
    new CreateMultipartUploadCommand({ Bucket: bucket, Key: key, ChecksumAlgorithm: 'SHA256' }),
    { abortSignal: signal },
  );
  const mebibyte = 2 ** 20;
  const needed = Math.ceil(sizeBytes / MAX_PARTS / mebibyte) * mebibyte;
  const part_bytes = Math.max(PART_BYTES, needed);
  const upload = { key, upload_id: UploadId ?? '', sha256, part_bytes, sent: {} };
  await notes.write(upload);
  return upload;
}

/** Sends the remaining parts, and combines all parts into an object. */
async function sendAll(
  context: PartsContext,
  upload: UploadNote,
  file: ObjectFile,
): Promise<Uploaded | null> {
  const { client, bucket, notes, isConditional, signal } = context;
  const { key } = upload;
  const id = { Bucket: bucket, Key: key, UploadId: upload.upload_id };
  const options = { abortSignal: signal };
  try {
    const Parts = await sendParts(context, id, upload, file);
    const condition = isConditional ? { IfNoneMatch: '*' } : {};
    const { ChecksumSHA256: reported } = await client.send(
      new CompleteMultipartUploadCommand({ ...id, ...condition, MultipartUpload: { Parts } }),
      options,
    );
    await notes.remove(key);
    const isEachProven = Parts.every(({ PartNumber = 0 }) => upload.sent[PartNumber]?.is_proven);
    return { isEachProven, reported, checksums: checksumsOf(Parts, file) };
  } catch (error) {
    if (!isTaken(error)) throw error;
    await notes.remove(key);
    await abandon(context, id);
    return null;
  }
}

/** Aborts an upload whose key is taken. If that fails, what remains only takes up space. */
async function abandon(
  { client, explain, onRemark, signal }: PartsContext,
  id: UploadId,
): Promise<void> {
  try {
    await client.send(new AbortMultipartUploadCommand(id), { abortSignal: signal });
  } catch (error) {
    signal.throwIfAborted();
    if (isMissing(error, 'NoSuchUpload')) return;
    const { message } = await explain(error);
    onRemark(
      `the parts of an abandoned upload of ${id.Key} could not be removed, and take up space until a rule of the bucket removes them: ${message}`,
    );
  }
}

/** Sends the remaining parts of a file. Returns what completes the upload. */
async function sendParts(
  context: PartsContext,
  id: UploadId,
  upload: UploadNote,
  file: ObjectFile,
): Promise<CompletedPart[]> {
  const { notes } = context;
  const { sent, part_bytes } = upload;
  const done: CompletedPart[] = [];
  const parts = readParts(context, file, part_bytes);
  let hasFailed = false;
  const sendNext = async () => {
    const { value: part } = await parts.next();
    if (part === undefined) return false;
    const { number, sha256 } = part;
    try {
      // A file that has changed since then has other parts.
      if (sent[number]?.sha256 !== sha256) {
        sent[number] = { ...(await sendPart(context, id, part)), sha256 };
        await notes.write(upload);
      }
      done.push({ PartNumber: number, ETag: sent[number]?.tag, ChecksumSHA256: sha256 });
      return true;
    } finally {
      part.release();
    }
  };
  const sendRest = async () => {
    try {
      while (!hasFailed && (await sendNext()));
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  try {
    // Parts under way are not lost when another one fails.
    for (const ended of await Promise.allSettled(Array.from({ length: AT_ONCE }, sendRest))) {
      if (ended.status === 'rejected') throw ended.reason;
    }
  } finally {
    await parts.return(undefined);
  }
  return done.sort((one, other) => (one.PartNumber ?? 0) - (other.PartNumber ?? 0));
}

/** Reads a file part by part. Throws StoreFault at the end if it is not the file that was announced. */
async function* readParts(
  { budget, address }: PartsContext,
  { path, sha256, sizeBytes }: ObjectFile,
  partBytes: number,
): AsyncGenerator<Part, undefined> {
  const changed = () =>
    new StoreFault('damaged', `${address}: a file changed before it could be sent there`);
  const whole = createHash('sha256');
  const handle = await open(path, 'r');
  try {
    for (let offset = 0, number = 1; offset < sizeBytes; number++) {
      const { buffer, release } = await budget.takeBuffer(partBytes);
      const bytes = buffer.subarray(0, sizeBytes - offset);
      try {
        for (let at = 0; at < bytes.length; ) {
          const { bytesRead } = await handle.read(bytes, at, bytes.length - at, offset + at);
          if (bytesRead === 0) throw changed();
          at += bytesRead;
        }
      } catch (error) {
        release();
        throw error;
      }
      whole.update(bytes);
      offset += bytes.length;
      const digest = createHash('sha256').update(bytes).digest('base64');
      yield { number, bytes, sha256: digest, release };
    }
    if ((await handle.stat()).size !== sizeBytes || whole.digest('hex') !== sha256) throw changed();
    return undefined;
  } finally {
    await handle.close();
  }
}

async function sendPart(
  { client, pace, address, signal }: PartsContext,
  id: UploadId,
  { number, bytes, sha256 }: Part,
): Promise<{ tag: string; is_proven: boolean }> {
  await pace(bytes.length);
  const { ETag, ChecksumSHA256 } = await client.send(
    new UploadPartCommand({ ...id, PartNumber: number, Body: bytes, ChecksumSHA256: sha256 }),
    { abortSignal: signal },
  );
  if (ChecksumSHA256 !== undefined && ChecksumSHA256 !== sha256) {
    throw new StoreFault('damaged', `${address}: it received other bytes than were sent`);
  }
  const is_proven = ChecksumSHA256 !== undefined || isMd5Of(ETag, bytes);
  return { tag: ETag ?? '', is_proven };
}
