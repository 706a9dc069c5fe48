import { afterEach, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../support/folders.ts';
import { type S3Fault, type S3Request, useS3Server } from '../support/s3-server.ts';
import { bytesOf, collect, makeFile, openBucket } from '../support/store-objects.ts';

const folder = useSharedFolder();
const server = useS3Server();
afterEach(() => server.fail(null));

/** For tests that need an answer: the server is this process, which may not be served for a while itself. */
const PATIENT_MS = 3_000;
const open = (prefix: string, maxSilenceMs = 300) =>
  openBucket(server.address(prefix), { folder, maxSilenceMs });
/** A store that waits for any machine, to prepare what a test reads. */
const prepare = (prefix: string) => open(prefix, 120_000);
const isPart = ({ method, query }: S3Request) => method === 'PUT' && query.has('partNumber');
const isList = ({ query }: S3Request) => query.has('list-type');
const isRead = ({ method, key }: S3Request) => method === 'GET' && key !== '';
const away = { name: 'StoreFault', kind: 'away' };

/** Lets the first requests of a kind fail. Returns how many have. */
function fail(isMeant: (request: S3Request) => boolean, fault: S3Fault, times = Infinity) {
  let failed = 0;
  server.fail((request) => {
    if (!isMeant(request) || failed === times) return undefined;
    failed++;
    return fault;
  });
  return () => failed;
}

describe('a bucket whose connections stay open and silent', () => {
  it('gets a part that it did not answer again', async () => {
    const store = open('part', PATIENT_MS);
    const file = await makeFile(folder, 9 * 2 ** 20);
    const failed = fail(isPart, 'silent', 2);
    await store.create('large', file);
    expect(failed()).toBe(2);
    expect((await bytesOf(store, 'large'))?.equals(file.bytes)).toBe(true);
  });

  it.each(['silent', 'silent halfway'] as const)(
    'is listed again after a listing that is %s',
    async (fault) => {
      const store = open('list', PATIENT_MS);
      await prepare('list').create('one', await makeFile(folder, 10));
      const failed = fail(isList, fault, 2);
      expect((await collect(store.list(''))).map(({ key }) => key)).toEqual(['one']);
      expect(failed()).toBe(2);
    },
  );

  it('is asked for an object again', async () => {
    const store = open('read', PATIENT_MS);
    const file = await makeFile(folder, 10);
    await prepare('read').create('one', file);
    const failed = fail(isRead, 'silent', 2);
    expect(await bytesOf(store, 'one')).toEqual(file.bytes);
    expect(failed()).toBe(2);
  });

  it('counts as away if it stops in the middle of an object', async () => {
    const store = open('body');
    await prepare('body').create('one', await makeFile(folder, 2 ** 20));
    fail(isRead, 'silent halfway');
    await expect(bytesOf(store, 'one')).rejects.toMatchObject(away);
  });

  it.each<[string, (request: S3Request) => boolean, number]>([
    ['small objects', ({ method }) => method === 'PUT', 10],
    ['parts', isPart, 9 * 2 ** 20],
    [
      'the end of an upload',
      ({ method, query }) => method === 'POST' && query.has('uploadId'),
      9 * 2 ** 20,
    ],
  ])('counts as away if it never answers %s', async (_, isMeant, size) => {
    fail(isMeant, 'silent');
    await expect(open('never').create('a', await makeFile(folder, size))).rejects.toMatchObject(
      away,
    );
  });

  it.each(['silent', 'silent halfway'] as const)(
    'counts as away if each listing is %s',
    async (fault) => {
      fail(isList, fault);
      await expect(collect(open('never').list(''))).rejects.toMatchObject(away);
    },
  );
});

it('a body is not cut off while its reader pauses, as it does with a bandwidth limit', async () => {
  const store = open('paused', PATIENT_MS);
  const file = await makeFile(folder, 16 * 2 ** 20);
  await prepare('paused').create('one', file);
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await store.read('one')) ?? []) {
    if (chunks.length === 0) {
      // Longer than a silence may last: six attempts at listing.
      fail(isList, 'silent');
      const other = open('paused', PATIENT_MS / 5);
      await expect(collect(other.list(''))).rejects.toMatchObject(away);
    }
    chunks.push(chunk);
  }
  expect(Buffer.concat(chunks).equals(file.bytes)).toBe(true);
});
