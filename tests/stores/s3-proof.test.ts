import { afterEach, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../support/folders.ts';
import type { S3Answer } from '../support/s3-answers.ts';
import { type S3Request, useS3Server } from '../support/s3-server.ts';
import { bytesOf, makeFile, openBucket } from '../support/store-objects.ts';

const folder = useSharedFolder();
const server = useS3Server();
afterEach(() => {
  server.fail(null);
  server.answer(null);
});

const PART = 8 * 2 ** 20;
const isPart = ({ method, query }: S3Request) => method === 'PUT' && query.has('partNumber');
const isEnd = ({ method }: S3Request) => method === 'POST';
const isHead = ({ method }: S3Request) => method === 'HEAD';
const damaged = {
  kind: 'damaged',
  message: expect.stringContaining('it received other bytes than were sent'),
};
let places = 0;

/** Stores a file in a new place, and returns the methods of the requests. */
async function store(size: number, answer: (request: S3Request) => S3Answer | undefined) {
  const objects = openBucket(server.address(`proof-${++places}`), { folder });
  const file = await makeFile(folder, size);
  server.answer(answer);
  server.takeRequests();
  const isNew = await objects.create('one', file);
  const methods = server.takeRequests().map(({ method }) => method);
  expect(isNew).toBe(true);
  expect((await bytesOf(objects, 'one'))?.equals(file.bytes)).toBe(true);
  return methods;
}

describe.each([
  ['a small object', 1_000, ['PUT']],
  ['an object in parts', PART + 1, ['POST', 'PUT', 'PUT', 'POST', 'HEAD']],
])('%s', (_, size, methods) => {
  it.each<[string, S3Answer]>([
    ['its SHA-256', { sha256: 'right' }],
    ['its SHA-256, and an ETag that is no MD5', { sha256: 'right', hasOtherTag: true }],
    ['its MD5 as ETag', {}],
  ])('is stored without further requests if the store reports %s', async (__, answer) => {
    expect(await store(size, () => answer)).toEqual(methods);
  });

  it('is read back if the store reports no hash of it', async () => {
    expect(await store(size, () => ({ hasOtherTag: true }))).toEqual([...methods, 'GET']);
  });

  it.each<[string, S3Answer]>([
    ['reports another SHA-256', { sha256: 'wrong' }],
    ['received other bytes and reports their SHA-256', { sha256: 'right', isDamaging: true }],
    ['received other bytes and reports no hash', { hasOtherTag: true, isDamaging: true }],
  ])('is damaged if the store %s', async (__, answer) => {
    await expect(store(size, () => answer)).rejects.toMatchObject(damaged);
  });

  it('is damaged if it cannot be read back in full', async () => {
    server.fail(({ method }) =>
      method === 'GET' ? { status: 404, code: 'NoSuchKey' } : undefined,
    );
    await expect(store(size, () => ({ hasOtherTag: true }))).rejects.toMatchObject(damaged);
  });
});

it.each<[string, (request: S3Request) => S3Answer | undefined]>([
  [
    'one part',
    ({ query }) => (query.get('partNumber') === '2' ? { hasOtherTag: true } : undefined),
  ],
  ['the whole', (request) => (isEnd(request) ? { sha256: 'wrong' } : undefined)],
  ['the whole afterwards', (request) => ({ sha256: isHead(request) ? 'wrong' : 'right' })],
])(
  'an object in parts is read back if the hash of %s is not the expected one',
  async (_, answer) => {
    expect((await store(PART + 1, answer)).at(-1)).toBe('GET');
  },
);

it.each([
  ['its parts', isPart],
  ['all of it', isEnd],
  ['what is there', isHead],
])(
  'an object in parts counts as stored if only the SHA-256 of %s is reported',
  async (_, isMeant) => {
    const answer = (request: S3Request) => ({
      hasOtherTag: true,
      ...(isMeant(request) ? { sha256: 'right' as const } : {}),
    });
    expect((await store(PART + 1, answer)).at(-1)).toBe('HEAD');
  },
);

it.each([
  ['is read back if', true, 'GET'],
  ['is not read back unless', false, 'HEAD'],
])(
  'a resumed upload %s a part that was sent earlier was not confirmed',
  async (_, hasOtherTag, last) => {
    const objects = openBucket(server.address(`resumed-${last}`), { folder });
    const file = await makeFile(folder, 3 * PART);
    const expired = { status: 403, code: 'ExpiredToken' };
    server.fail(({ query }) => (query.get('partNumber') === '3' ? expired : undefined));
    server.answer(() => ({ hasOtherTag }));
    await expect(objects.create('one', file)).rejects.toMatchObject({ kind: 'denied' });
    server.fail(null);
    server.answer(null);
    server.takeRequests();
    expect(await objects.create('one', file)).toBe(true);
    const requests = server.takeRequests();
    expect(requests.filter(isPart)).toHaveLength(1);
    expect(requests.at(-1)?.method).toBe(last);
  },
);

it('reading back continues where it was cut off', async () => {
  let cuts = 0;
  server.fail(({ method }) => (method === 'GET' && cuts++ === 0 ? 'cut' : undefined));
  await store(1_000, () => ({ hasOtherTag: true }));
  expect(cuts).toBeGreaterThan(1);
});
