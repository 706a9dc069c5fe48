import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3';
import type { Clock } from '../../clock.ts';
import type { BucketAddress } from '../../config/stores/store-address.ts';
import type { Proxies } from '../../http/proxies.ts';
import type { ByteBudget } from '../base/byte-budget.ts';
import { createFaultGuard } from '../base/fault-guard.ts';
import {
  type ObjectFile,
  type ObjectStore,
  type StoredObject,
  StoreFault,
} from '../base/object-store.ts';
import { type Pace, paced } from '../base/pace.ts';
import { hashObject } from '../reading/hash-object.ts';
import { ObjectFault } from '../reading/object-fault.ts';
import { endSilence } from './body-silence.ts';
import { isMd5Of } from './checksums.ts';
import { uploadInParts } from './multipart-upload.ts';
import { createS3Clients, s3Secrets } from './s3-client.ts';
import { explainS3Error, isMissing, isTaken } from './s3-faults.ts';
import type { UploadNotes } from './upload-notes.ts';

/** Larger files are uploaded in parts. */
const MAX_SINGLE_BYTES = 8 * 2 ** 20;
/**
 * A connection on which no byte moves for that long is dead. The system's own buffer must be sent by then too, which
 * takes a minute for 4 MB over a line of 70 KB/s.
 */
const MAX_SILENCE_MS = 120_000;

export interface S3Options {
  proxies: Proxies;
  notes: UploadNotes;
  budget: ByteBudget;
  pace: Pace;
  clock: Clock;
  signal: AbortSignal;
  /** Called with remarks that are not failures, such as wasted space. */
  onRemark(text: string): void;
  /** How long a connection may be silent, MAX_SILENCE_MS by default. */
  maxSilenceMs?: number;
}

/** A bucket. Credentials are found and renewed as by the AWS command line. */
export function createS3Store(bucketAddress: BucketAddress, options: S3Options): ObjectStore {
  const { bucket, prefix, text: address, isConditional } = bucketAddress;
  const { proxies, budget, pace, clock, signal, maxSilenceMs = MAX_SILENCE_MS } = options;
  const { client, reader } = createS3Clients(bucketAddress, { proxies, maxSilenceMs });
  const abort = { abortSignal: signal };
  const damaged = (cause?: unknown) =>
    new StoreFault('damaged', `${address}: it received other bytes than were sent`, { cause });
  const explain = async (error: unknown) =>
    explainS3Error(address, error, { secrets: await s3Secrets(client), now: clock.now() });
  const guard = createFaultGuard(signal, explain);
  const find = (Key: string) =>
    client
      .send(new HeadObjectCommand({ Bucket: bucket, Key, ChecksumMode: 'ENABLED' }), abort)
      .catch((error: unknown) => {
        if (isMissing(error, 'NoSuchKey')) return null;
        throw error;
      });

  async function* list(from: string, after?: string): AsyncGenerator<StoredObject> {
    const query = {
      Bucket: bucket,
      Prefix: `${prefix}${from}`,
      StartAfter: after === undefined ? undefined : `${prefix}${after}`,
    };
    const pages = paginateListObjectsV2({ client }, query, abort);
    for (;;) {
      const page = await guard(() => pages.next());
      if (page.done) return;
      for (const { Key = '', Size = 0, LastModified } of page.value.Contents ?? []) {
        const storedMs = LastModified?.getTime() ?? Date.now();
        yield { key: Key.slice(prefix.length), sizeBytes: Size, storedMs };
      }
    }
  }

  /**
   * Reads back an object of which the store reported nothing that proves it. An ETag that is no MD5 proves neither: it
   * is none if the store encrypts with keys of its own. No request could tell more than the bytes themselves.
   */
  async function readBack(key: string, { sizeBytes, sha256 }: ObjectFile): Promise<void> {
    try {
      const found = await hashObject({ objects: store, clock, signal }, { key, sizeBytes });
      if (found !== sha256) throw damaged();
    } catch (error) {
      throw error instanceof ObjectFault ? damaged(error) : error;
    }
  }

  async function putWhole(key: string, file: ObjectFile): Promise<boolean> {
    const { path, sizeBytes, sha256 } = file;
    const Key = `${prefix}${key}`;
    const release = await budget.take(sizeBytes);
    try {
      const Body = await readFile(path);
      const hash = createHash('sha256').update(Body).digest();
      if (hash.toString('hex') !== sha256) {
        throw new StoreFault('damaged', `${address}: a file changed before it could be sent there`);
      }
      await pace(sizeBytes);
      const sent = hash.toString('base64');
      const condition = isConditional ? { IfNoneMatch: '*' } : {};
      const { ETag, ChecksumSHA256 } = await client.send(
        new PutObjectCommand({ Bucket: bucket, Key, Body, ChecksumSHA256: sent, ...condition }),
        abort,
      );
      if (ChecksumSHA256 !== undefined) {
        if (ChecksumSHA256 !== sent) throw damaged();
        return true;
      }
      // A store that does not report SHA-256 usually reports MD5.
      if (!isMd5Of(ETag, Body)) await readBack(key, file);
      return true;
    } finally {
      release();
    }
  }

  async function putInParts(key: string, file: ObjectFile): Promise<boolean> {
    const context = { ...options, client, bucket, address, isConditional, explain };
    const Key = `${prefix}${key}`;
    const uploaded = await uploadInParts(context, Key, file);
    if (uploaded === null) return false;
    const { ContentLength, ChecksumSHA256 } = (await find(Key)) ?? {};
    if (ContentLength !== file.sizeBytes) throw damaged();
    const reported = [uploaded.reported, ChecksumSHA256].filter((sum) => sum !== undefined);
    const isProven =
      reported.length === 0
        ? uploaded.isEachProven
        : reported.every((sum) => uploaded.checksums.includes(sum));
    if (!isProven) await readBack(key, file);
    return true;
  }

  const store: ObjectStore = {
    address,
    list,
    read: (key, from = 0) =>
      guard(async () => {
        const Range = from === 0 ? undefined : `bytes=${from}-`;
        try {
          const { Body } = await reader.send(
            new GetObjectCommand({ Bucket: bucket, Key: `${prefix}${key}`, Range }),
            abort,
          );
          if (Body === undefined) throw new Error('a response without a body');
          return guard.bytes(paced(endSilence(Body as Readable, maxSilenceMs), pace));
        } catch (error) {
          if (isMissing(error, 'NoSuchKey')) return null;
          throw error;
        }
      }),
    create: (key, file) =>
      guard(async () => {
        // Nothing else would prevent an object from being replaced.
        if (!isConditional && (await find(`${prefix}${key}`)) !== null) return false;
        try {
          return file.sizeBytes > MAX_SINGLE_BYTES
            ? await putInParts(key, file)
            : await putWhole(key, file);
        } catch (error) {
          if (isTaken(error)) return false;
          throw error;
        }
      }),
    remove: (key) =>
      guard(async () => {
        await client.send(
          new DeleteObjectCommand({ Bucket: bucket, Key: `${prefix}${key}` }),
          abort,
        );
      }),
  };
  return store;
}
