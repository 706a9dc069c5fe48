import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import { useSharedFolder } from '../support/folders.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';
import { bytesOf, openBucket } from '../support/store-objects.ts';

const folder = useSharedFolder();
let server: ScriptedServer | null = null;
beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'KEY');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-tests');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server?.close();
});

const xml = (code: string, more = '') =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No.</Message>${more}</Error>`;
const regionIn = (authorization = '') =>
  /Credential=[^/]+\/\d+\/([^/]+)\//.exec(authorization)?.[1];
const addressOf = ({ url }: ScriptedServer) =>
  `s3://bucket/one?endpoint=${url}&path-style=yes&region=us-east-1`;

it('a bucket of another region is read there, if the store names it by a redirect', async () => {
  server = await startScriptedServer(({ headers }) =>
    regionIn(headers.authorization) === 'eu-north-1'
      ? { body: 'content' }
      : {
          ...{ status: 301, headers: { 'x-amz-bucket-region': 'eu-north-1' } },
          body: xml('PermanentRedirect'),
        },
  );
  const bucket = openBucket(addressOf(server), { folder });
  expect(`${await bytesOf(bucket, 'key')}`).toBe('content');
});

it.each([
  [301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-north-1' }, ''],
  [400, 'AuthorizationHeaderMalformed', {}, '<Region>eu-north-1</Region>'],
])('the region in a refusal with %s is in the message', async (status, code, headers, more) => {
  server = await startScriptedServer(() => ({ status, headers, body: xml(code, more) }));
  const reading = bytesOf(openBucket(addressOf(server), { folder }), 'key');
  await expect(reading).rejects.toThrow(
    `s3://bucket/one: ${code}: No. (${status}); the bucket is in the region eu-north-1: add \`region=eu-north-1\` to the address`,
  );
});

it.each([
  ['behind', 'RequestTimeTooSkewed', '2026-03-04T07:05:00Z', '2 h'],
  ['ahead of', 'RequestTimeTooSkewed', '2026-03-04T04:35:00Z', '30 min'],
  ['behind', 'RequestExpired', '2026-03-06T05:05:00Z', '48 h'],
])('a clock that is %s the one of the store is told by how much', async (way, code, at, amount) => {
  const date = new Date(at).toUTCString();
  server = await startScriptedServer(() => ({ status: 403, headers: { date }, body: xml(code) }));
  const clock = createTestClock(Date.parse('2026-03-04T05:05:00Z'));
  const reading = bytesOf(openBucket(addressOf(server), { folder, clock }), 'key');
  await expect(reading).rejects.toThrow(
    `${code}: No. (403); the clock of this machine is ${amount} ${way} that of the store: set it`,
  );
});
