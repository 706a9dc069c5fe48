import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import pLimit from 'p-limit';
import { type BucketAddress, parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import type { StateFile } from '../../lib/stores/base/store-state.ts';
import { printTable, quantile, ratio } from '../report.ts';
import { WORKER_FLAGS } from '../worker-flags.ts';
import { type LocalFile, openEncryptedFiles } from './encrypted-file.ts';
import type { StoreWorld } from './world.ts';

const MIB = 2 ** 20;
const PART_BYTES = 8 * MIB;
const GOAL = 0.8;

/** Measures up- and downloads of a large encrypted file, compared with the same client's plain stream. */
export async function measureLargeObject(
  { address, folder }: StoreWorld,
  { mebibytes, rounds }: { mebibytes: number; rounds: number },
): Promise<void> {
  const path = join(folder, 'large');
  const file = { path, sha256: await makeFile(path, mebibytes), sizeBytes: mebibytes * MIB };
  const down = join(folder, 'down');
  const peak = await measureMemory(address, folder, file);
  const plain = plainClient(parseStoreAddress(address) as BucketAddress);
  const files = await openEncryptedFiles(address, folder);
  const times: Record<'up' | 'plainUp' | 'down' | 'plainDown', number[]> = {
    ...{ up: [], plainUp: [], down: [], plainDown: [] },
  };
  for (let round = 0; round < rounds; round++) {
    const name = `large-${round}`;
    let stored: StateFile | undefined;
    const send = async () => {
      stored = await files.send(file, name);
    };
    const receive = async () => {
      if (stored === undefined) throw new Error('nothing was stored');
      await files.receive(stored);
    };
    const pairs: [number[], () => Promise<unknown>][][] = [
      [
        [times.plainUp, () => plain.upload(name, path)],
        [times.up, send],
      ],
      [
        [times.plainDown, () => plain.download(name, down)],
        [times.down, receive],
      ],
    ];
    for (const pair of pairs) {
      // Whichever comes second finds a disk that is still busy writing.
      for (const [taken, step] of round % 2 === 0 ? pair : pair.toReversed()) {
        await rm(down, { force: true });
        taken.push(await timed(step));
      }
    }
    // Otherwise the store grows, and later rounds find less memory for its files.
    await Promise.all([plain.remove(name), stored && files.remove(stored)]);
  }
  const speed = (values: readonly number[]) =>
    `${((mebibytes * 1_000) / quantile(values, 0.5)).toFixed(0)} MiB/s`;
  const row = (what: string, ours: number[], base: number[]) => {
    const figures = ours.map((value, index) => (base[index] ?? 0) / value);
    const figure = quantile(figures, 0.5);
    const isReached = figure >= GOAL ? 'reached' : 'MISSED';
    const goal = `at least ${ratio(GOAL)}`;
    return [
      what,
      speed(ours),
      speed(base),
      ratio(figure),
      figures.map(ratio).join(' '),
      goal,
      isReached,
    ];
  };
  printTable(
    `One file of ${mebibytes} MiB, encrypted and proved, beside the same client's plain stream`,
    ['case', 'ours', 'plain', 'figure', 'of each round', 'goal', ''],
    [row('up', times.up, times.plainUp), row('down', times.down, times.plainDown)],
  );
  const megabytes = (peak / 1e6).toFixed(0);
  process.stdout.write(`\nA process that does only this took at most ${megabytes} MB of memory.\n`);
}

async function measureMemory(address: string, folder: string, file: LocalFile): Promise<number> {
  const child = join(import.meta.dirname, 'memory-child.ts');
  const { path, sha256, sizeBytes } = file;
  const args = [...WORKER_FLAGS, child, address, folder, path, sha256, `${sizeBytes}`];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  await rm(join(folder, 'down'));
  return Number(stdout);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function makeFile(path: string, mebibytes: number): Promise<string> {
  const hash = createHash('sha256');
  const handle = await open(path, 'w');
  for (let n = 0; n < mebibytes; n++) {
    const bytes = randomBytes(MIB);
    hash.update(bytes);
    await handle.writeFile(bytes);
  }
  await handle.sync();
  await handle.close();
  return hash.digest('hex');
}

/** The plain S3 client with parts of the same size, without hashes and notes. */
function plainClient({ bucket, endpoint }: BucketAddress) {
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint }),
    region: 'us-east-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return {
    async upload(Key: string, path: string) {
      const handle = await open(path, 'r');
      const { size } = await handle.stat();
      const upload = { Bucket: bucket, Key };
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(upload));
      const limit = pLimit(2);
      const Parts = await Promise.all(
        Array.from({ length: Math.ceil(size / PART_BYTES) }, (_, index) =>
          limit(async () => {
            const Body = Buffer.alloc(Math.min(PART_BYTES, size - index * PART_BYTES));
            await handle.read(Body, 0, Body.length, index * PART_BYTES);
            const part = { ...upload, UploadId, PartNumber: index + 1, Body };
            const { ETag } = await client.send(new UploadPartCommand(part));
            return { ETag, PartNumber: index + 1 };
          }),
        ),
      );
      const MultipartUpload = { Parts };
      await client.send(
        new CompleteMultipartUploadCommand({ ...upload, UploadId, MultipartUpload }),
      );
      await handle.close();
    },
    async remove(Key: string) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
    },
    async download(Key: string, to: string) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
      await pipeline(Body as Readable, createWriteStream(to));
    },
  };
}
