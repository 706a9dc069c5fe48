import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import pLimit from 'p-limit';
import type { ByteBudget } from '../byte-budget.ts';
import { type ObjectFile, StoreFault } from '../object-store.ts';
import type { Pace } from '../pace.ts';
import { isMissing, isTaken } from './s3-faults.ts';
import type { UploadNote, UploadNotes } from './upload-notes.ts';

/** The least size of a part but the last that all stores take is 5 MiB, the largest number of parts 10,000. */
const PART_BYTES = 8 * 2 ** 20;
const MAX_PARTS = 9_000;
/** How many parts of a file are sent at once. */
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
}

interface Part {
  number: number;
  offset: number;
  sizeBytes: number;
  /** Base64. */
  sha256: string;
}

/** Uploads a large file in parts, or the rest of it after an interruption. False if the key is taken. */
export async function uploadInParts(
  context: PartsContext,
  key: string,
  file: ObjectFile,
): Promise<boolean> {
  const { notes } = context;
  const noted = await notes.read(key);
  if (noted?.sha256 !== file.sha256) return sendAll(context, await begin(context, key, file), file);
  try {
    return await sendAll(context, noted, file);
  } catch (error) {
    // The store has given up the upload, or lost a part.
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

/** Sends the parts that were not sent yet, and makes them an object. */
async function sendAll(
  context: PartsContext,
  upload: UploadNote,
  file: ObjectFile,
): Promise<boolean> {
  const { client, bucket, notes, isConditional, address, signal } = context;
  const { key, sent } = upload;
  const Key = { Bucket: bucket, Key: key, UploadId: upload.upload_id };
  const options = { abortSignal: signal };
  const handle = await open(file.path, 'r');
  try {
    const parts = await measure(handle, file, upload.part_bytes, address);
    const limit = pLimit(AT_ONCE);
    let hasFailed = false;
    const sending = parts.map((part) =>
      limit(async () => {
        if (hasFailed || sent[part.number] !== undefined) return;
        try {
          sent[part.number] = await sendPart(context, Key, handle, part);
          await notes.write(upload);
        } catch (error) {
          hasFailed = true;
          throw error;
        }
      }),
    );
    // Parts under way are not lost when another one fails.
    for (const ended of await Promise.allSettled(sending)) {
      if (ended.status === 'rejected') throw ended.reason;
    }
    const Parts = parts.map(({ number, sha256 }) => ({
      PartNumber: number,
      ETag: sent[number],
      ChecksumSHA256: sha256,
    }));
    const condition = isConditional ? { IfNoneMatch: '*' } : {};
    await client.send(
      new CompleteMultipartUploadCommand({ ...Key, ...condition, MultipartUpload: { Parts } }),
      options,
    );
    await notes.remove(key);
    return true;
  } catch (error) {
    if (!isTaken(error)) throw error;
    await notes.remove(key);
    // What is left of it costs space until the store's own rule removes it.
    await client.send(new AbortMultipartUploadCommand(Key), options).catch(() => undefined);
    return false;
  } finally {
    await handle.close();
  }
}

/** Reads the whole file, which must be the one that was announced, and hashes its parts. */
async function measure(
  handle: FileHandle,
  { sha256, sizeBytes }: ObjectFile,
  partBytes: number,
  address: string,
): Promise<Part[]> {
  const whole = createHash('sha256');
  const parts: Part[] = [];
  let part = createHash('sha256');
  let inPart = 0;
  let offset = 0;
  const finish = () => {
    const number = parts.length + 1;
    parts.push({ number, offset, sizeBytes: inPart, sha256: part.digest('base64') });
    offset += inPart;
    inPart = 0;
    part = createHash('sha256');
  };
  const chunks = handle.createReadStream({ autoClose: false, start: 0, highWaterMark: 2 ** 20 });
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    whole.update(chunk);
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + partBytes - inPart);
      part.update(piece);
      inPart += piece.length;
      at += piece.length;
      if (inPart === partBytes) finish();
    }
  }
  if (inPart > 0) finish();
  if (offset !== sizeBytes || whole.digest('hex') !== sha256) {
    throw new StoreFault('damaged', `${address}: a file has changed before it could be sent there`);
  }
  return parts;
}

async function sendPart(
  { client, budget, pace, address, signal }: PartsContext,
  key: { Bucket: string; Key: string; UploadId: string },
  handle: FileHandle,
  { number, offset, sizeBytes, sha256 }: Part,
): Promise<string> {
  const release = await budget.take(sizeBytes);
  try {
    const Body = Buffer.allocUnsafe(sizeBytes);
    for (let at = 0; at < sizeBytes; ) {
      const { bytesRead } = await handle.read(Body, at, sizeBytes - at, offset + at);
      if (bytesRead === 0) throw new Error('the file became shorter');
      at += bytesRead;
    }
    await pace(sizeBytes);
    const { ETag, ChecksumSHA256 = sha256 } = await client.send(
      new UploadPartCommand({ ...key, PartNumber: number, Body, ChecksumSHA256: sha256 }),
      { abortSignal: signal },
    );
    if (ChecksumSHA256 !== sha256) {
      throw new StoreFault('damaged', `${address}: it received other bytes than were sent`);
    }
    return ETag ?? '';
  } finally {
    release();
  }
}
