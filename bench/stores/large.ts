import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import pLimit from 'p-limit';
import { systemClock } from '../../lib/clock.ts';
import { type BucketAddress, parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import { createCipher, encryptFile } from '../../lib/stores/age-cipher.ts';
import { createSecretNaming, objectKey } from '../../lib/stores/layout.ts';
import { openStores } from '../../lib/stores/open-stores.ts';
import { fetchFile } from '../../lib/stores/reading/fetch-file.ts';
import type { StateFile } from '../../lib/stores/store-state.ts';
import { printTable, quantile, ratio } from '../report.ts';
import type { StoreWorld } from './world.ts';

const MIB = 2 ** 20;
const PART_BYTES = 8 * MIB;
const GOAL = 0.8;

/** One large file, encrypted, up and down, beside the same client without anything else. */
export async function measureLargeObject(
  { address, folder }: StoreWorld,
  { mebibytes, rounds }: { mebibytes: number; rounds: number },
): Promise<void> {
  const signal = new AbortController().signal;
  const path = join(folder, 'large');
  const sha256 = await makeFile(path, mebibytes);
  const parsed = parseStoreAddress(address) as BucketAddress;
  const onRemark = (text: string) => void process.stderr.write(`${text}\n`);
  const options = { folder, bytesPerSecond: null, clock: systemClock, signal, onRemark };
  const [store] = await openStores([parsed], options);
  if (store === undefined) throw new Error('there is no store');
  const plain = plainClient(parsed);
  const identity = await generateIdentity();
  const naming = createSecretNaming('a key for names, of more than 32 characters');
  const cipher = createCipher([await identityToRecipient(identity)]);
  const times: Record<'up' | 'plainUp' | 'down' | 'plainDown', number[]> = {
    ...{ up: [], plainUp: [], down: [], plainDown: [] },
  };
  const peaks: Record<'up' | 'down', number> = { up: 0, down: 0 };
  const down = join(folder, 'down');
  for (let round = 0; round < rounds; round++) {
    const plainKey = `plain-${round}`;
    let stored: StateFile | undefined;
    const sendPlain = async () => {
      times.plainUp.push(await timed(() => plain.upload(plainKey, path)));
    };
    const send = async () => {
      const to = join(folder, 'sealed');
      const made = await encryptFile(path, to, cipher, signal);
      if (made.plainSha256 !== sha256) throw new Error('another file was encrypted');
      const key = objectKey(naming.archive(`large-${round}`), naming.content(sha256), made.sha256);
      await store.objects.create(key, { path: to, ...made });
      await rm(to);
      const size_bytes = mebibytes * MIB;
      stored = { name: 'down', key, sha256, size_bytes, stored_bytes: made.sizeBytes };
    };
    const receivePlain = async () => {
      times.plainDown.push(await timed(() => plain.download(plainKey, down)));
    };
    const receive = async () => {
      const reading = { ...options, objects: store.objects, identities: [identity] };
      if (stored === undefined) throw new Error('nothing was stored');
      // Fails if another file comes back.
      await fetchFile(reading, stored, { path: folder, parts: folder }, () => undefined);
    };
    const steps = [
      [sendPlain, async () => times.up.push(await timed(() => watchMemory(peaks, 'up', send)))],
      [
        receivePlain,
        async () => times.down.push(await timed(() => watchMemory(peaks, 'down', receive))),
      ],
    ];
    // What comes second finds a disk that is still writing.
    for (const pair of steps) {
      for (const step of round % 2 === 0 ? pair : pair.toReversed()) {
        await rm(down, { force: true });
        await step();
      }
    }
  }
  const speed = (values: readonly number[]) =>
    `${((mebibytes * 1_000) / quantile(values, 0.5)).toFixed(0)} MiB/s`;
  const row = (what: 'up' | 'down', ours: number[], base: number[]) => {
    const figure = quantile(
      ours.map((value, index) => (base[index] ?? 0) / value),
      0.5,
    );
    const isReached = figure >= GOAL ? 'reached' : 'MISSED';
    const memory = `${Math.round(peaks[what] / MIB)} MiB`;
    const goal = `at least ${ratio(GOAL)}`;
    return [what, speed(ours), speed(base), ratio(figure), goal, isReached, memory];
  };
  printTable(
    `One file of ${mebibytes} MiB, encrypted and proved, beside the same client's plain stream`,
    ['case', 'ours', 'plain', 'figure', 'goal', '', 'memory at most'],
    [row('up', times.up, times.plainUp), row('down', times.down, times.plainDown)],
  );
}

/** Memory of the whole process, with what the plain stream has left. */
async function watchMemory<What extends string>(
  peaks: Record<What, number>,
  what: What,
  work: () => Promise<unknown>,
): Promise<void> {
  const look = () => {
    peaks[what] = Math.max(peaks[what], process.memoryUsage.rss());
  };
  const timer = setInterval(look, 50);
  try {
    await work();
  } finally {
    look();
    clearInterval(timer);
  }
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

/** The client of S3 with parts of the same size, and neither hashes nor notes. */
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
    async download(Key: string, to: string) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
      await pipeline(Body as Readable, createWriteStream(to));
    },
  };
}
