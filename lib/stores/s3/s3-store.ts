import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import type { BucketAddress } from '../../config/stores/store-address.ts';
import type { ByteBudget } from '../byte-budget.ts';
import { createFaultGuard } from '../fault-guard.ts';
import {
  type ObjectFile,
  type ObjectStore,
  type StoredObject,
  StoreFault,
} from '../object-store.ts';
import { type Pace, paced } from '../pace.ts';
import { uploadInParts } from './multipart-upload.ts';
import { explainS3Error, isMissing, isTaken } from './s3-faults.ts';
import type { UploadNotes } from './upload-notes.ts';

/** Larger files are uploaded in parts. */
const MAX_SINGLE_BYTES = 8 * 2 ** 20;
const MAX_ATTEMPTS = 6;

export interface S3Options {
  notes: UploadNotes;
  budget: ByteBudget;
  pace: Pace;
  signal: AbortSignal;
  /** Called with remarks that are not failures, such as wasted space. */
  onRemark(text: string): void;
}

/** A bucket. Credentials are found and renewed as by the AWS command line. */
export function createS3Store(bucketAddress: BucketAddress, options: S3Options): ObjectStore {
  const { bucket, prefix, text: address, isConditional } = bucketAddress;
  const { budget, pace, signal } = options;
  const client = createClient(bucketAddress);
  const abort = { abortSignal: signal };
  const damaged = () =>
    new StoreFault('damaged', `${address}: it received other bytes than were sent`);
  const explain = async (error: unknown) => explainS3Error(address, error, await secretsOf(client));
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

  async function putWhole(Key: string, { path, sizeBytes, sha256 }: ObjectFile): Promise<boolean> {
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
      const md5 = createHash('md5').update(Body).digest('hex');
      if (ETag?.replaceAll('"', '') === md5) return true;
      if ((await find(Key))?.ContentLength !== sizeBytes) throw damaged();
      return true;
    } finally {
      release();
    }
  }

  async function putInParts(Key: string, file: ObjectFile): Promise<boolean> {
    const context = { ...options, client, bucket, address, isConditional, explain };
    const isNew = await uploadInParts(context, Key, file);
    if (isNew && (await find(Key))?.ContentLength !== file.sizeBytes) throw damaged();
    return isNew;
  }

  return {
    address,
    list,
    read: (key, from = 0) =>
      guard(async () => {
        const Range = from === 0 ? undefined : `bytes=${from}-`;
        try {
          const { Body } = await client.send(
            new GetObjectCommand({ Bucket: bucket, Key: `${prefix}${key}`, Range }),
            abort,
          );
          if (Body === undefined) throw new Error('a response without a body');
          return guard.bytes(paced(Body as AsyncIterable<Uint8Array>, pace));
        } catch (error) {
          if (isMissing(error, 'NoSuchKey')) return null;
          throw error;
        }
      }),
    create: (key, file) =>
      guard(async () => {
        const Key = `${prefix}${key}`;
        // Nothing else would prevent an object from being replaced.
        if (!isConditional && (await find(Key)) !== null) return false;
        try {
          return file.sizeBytes > MAX_SINGLE_BYTES
            ? await putInParts(Key, file)
            : await putWhole(Key, file);
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
}

/** Secrets that must not appear in a message. */
async function secretsOf({ config }: S3Client): Promise<string[]> {
  try {
    const { secretAccessKey, sessionToken = '' } = await config.credentials();
    return [secretAccessKey, sessionToken].filter((secret) => secret !== '');
  } catch {
    // There are no credentials, as the error already says.
    return [];
  }
}

function createClient({ endpoint, region, isPathStyle, profile }: BucketAddress): S3Client {
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint }),
    // A store at a custom endpoint rarely has regions, but signatures contain one.
    ...(region === null && endpoint === null ? {} : { region: region ?? 'us-east-1' }),
    ...(profile === null ? {} : { profile }),
    forcePathStyle: isPathStyle,
    maxAttempts: MAX_ATTEMPTS,
    // Stores other than AWS do not support trailing checksums. Ours are sent with each request.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 20_000,
      requestTimeout: 300_000,
      httpsAgent: { maxSockets: 16 },
      httpAgent: { maxSockets: 16 },
    },
  });
  // The SHA-256 that the store compares also signs the body, which would otherwise be hashed again.
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      const sha256 = headers['x-amz-checksum-sha256'];
      if (sha256 !== undefined) {
        headers['x-amz-content-sha256'] = Buffer.from(sha256, 'base64').toString('hex');
      }
      return next(args);
    },
    { step: 'build', name: 'signWithChecksum' },
  );
  return client;
}
