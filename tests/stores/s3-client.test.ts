import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BucketAddress, parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import { readProxies } from '../../lib/http/proxies.ts';
import { createS3Clients } from '../../lib/stores/s3/s3-client.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { collect } from '../support/store-objects.ts';

const folder = useTemporaryFolder();

beforeEach(async () => {
  const [config, credentials] = [join(folder, 'config'), join(folder, 'credentials')];
  await writeFile(config, '[profile other]\nregion = eu-north-1\n');
  await writeFile(
    credentials,
    '[other]\naws_access_key_id = OTHERKEY\naws_secret_access_key = hunter-22\n',
  );
  vi.stubEnv('AWS_CONFIG_FILE', config);
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', credentials);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'OWNKEY');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'hunter-23');
  vi.stubEnv('AWS_REGION', 'us-west-2');
});
afterEach(() => void vi.unstubAllEnvs());

interface SignedRequest {
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  headers: Record<string, string>;
}

/** The request for an object, which is not sent. */
async function requestOf(client: S3Client, Bucket: string) {
  const sent = Promise.withResolvers<SignedRequest>();
  client.middlewareStack.add(
    () => async (args) => {
      sent.resolve(args.request as SignedRequest);
      throw new Error('not sent');
    },
    { step: 'finalizeRequest', priority: 'low', name: 'capture' },
  );
  await client.send(new GetObjectCommand({ Bucket, Key: 'one' })).catch(() => undefined);
  const { protocol, hostname, port, path, headers } = await sent.promise;
  const { authorization = '' } = headers;
  const [, key, region] = /Credential=(\w+)\/\d+\/([\w-]+)\/s3\//.exec(authorization) ?? [];
  return {
    url: `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`,
    ...{ key, region },
  };
}

describe.each(['client', 'reader'] as const)('the %s of a bucket', (which) => {
  it.each([
    ['', 'https://bucket.s3.us-west-2.amazonaws.com/one', 'us-west-2', 'OWNKEY'],
    [
      '?region=eu-central-1',
      'https://bucket.s3.eu-central-1.amazonaws.com/one',
      'eu-central-1',
      'OWNKEY',
    ],
    [
      '?region=eu-central-1&path-style=yes',
      'https://s3.eu-central-1.amazonaws.com/bucket/one',
      ...['eu-central-1', 'OWNKEY'],
    ],
    [
      '?endpoint=https://s3.example.org:8443',
      'https://bucket.s3.example.org:8443/one',
      'us-east-1',
      'OWNKEY',
    ],
    [
      '?endpoint=https://s3.example.org&region=garage&path-style=yes',
      'https://s3.example.org/bucket/one',
      ...['garage', 'OWNKEY'],
    ],
    [
      '?profile=other&region=eu-central-1',
      'https://bucket.s3.eu-central-1.amazonaws.com/one',
      ...['eu-central-1', 'OTHERKEY'],
    ],
  ])('follows the address s3://bucket%s', async (parameters, url, region, key) => {
    const address = parseStoreAddress(`s3://bucket${parameters}`) as BucketAddress;
    const clients = createS3Clients(address, { proxies: readProxies({}), maxSilenceMs: 1_000 });
    expect(await requestOf(clients[which], 'bucket')).toEqual({ url, region, key });
  });

  it('finds the region of a profile', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    const address = parseStoreAddress('s3://bucket?profile=other') as BucketAddress;
    const clients = createS3Clients(address, { proxies: readProxies({}), maxSilenceMs: 1_000 });
    expect(await requestOf(clients[which], 'bucket')).toEqual({
      ...{ url: 'https://bucket.s3.eu-north-1.amazonaws.com/one', key: 'OTHERKEY' },
      region: 'eu-north-1',
    });
  });
});

it('each attempt to upload sends all of a body in small pieces, whose progress is seen', async () => {
  const address = parseStoreAddress('s3://bucket?region=eu-central-1') as BucketAddress;
  const { client } = createS3Clients(address, { proxies: readProxies({}), maxSilenceMs: 1_000 });
  const Body = randomBytes(1_000_000);
  const sent: Buffer[][] = [];
  client.config.requestHandler.handle = async ({ body }) => {
    sent.push(await collect<Buffer>(body));
    throw Object.assign(new Error('silent'), { name: 'TimeoutError' });
  };
  await expect(
    client.send(new PutObjectCommand({ Bucket: 'bucket', Key: 'one', Body })),
  ).rejects.toThrow('silent');
  expect(sent.length).toBeGreaterThan(1);
  for (const pieces of sent) {
    expect(Buffer.concat(pieces).equals(Body)).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(262_144);
  }
});
