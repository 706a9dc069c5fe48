import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useDatabase } from '../support/hooks.ts';
import { useStoreWorld } from '../support/store-world.ts';
import { refsOf } from '../support/versioned-app.ts';

// A bucket behind a line that cuts each download after some bytes.

const database = useDatabase();
const world = useStoreWorld(database, { place: 'bucket', isEncrypted: true });

interface Line {
  /** The bytes after which a body is cut; null for none. */
  cutAfter: number | null;
  /** Called before a body is cut. */
  onCut(): void;
  /** Downloads of objects: the key, from which byte on, and how many bytes came. */
  downloads: { key: string; from: number; bytes: number }[];
  address: string;
}

let line: Line;
let server: Server;
beforeEach(async () => {
  const target = new URL(new URL(world.address).searchParams.get('endpoint') ?? '');
  server = createServer((request, response) => {
    const { url = '', method, headers } = request;
    const onward = forward(
      { host: target.hostname, port: target.port, path: url, method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        const from = Number(/^bytes=(\d+)-/.exec(`${headers.range ?? ''}`)?.[1] ?? 0);
        const isObject = url.includes('/objects/');
        const download = { key: decodeURIComponent(url.split('?')[0] ?? ''), from, bytes: 0 };
        if (isObject) line.downloads.push(download);
        answer.on('data', (chunk: Buffer) => {
          if (response.destroyed) return;
          const left = (line.cutAfter ?? Infinity) - download.bytes;
          const part = isObject ? chunk.subarray(0, left) : chunk;
          download.bytes += part.length;
          response.write(part, () => {
            if (part.length === chunk.length || response.destroyed) return;
            line.onCut();
            response.destroy();
          });
        });
        answer.once('end', () => response.end());
      },
    );
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  line = {
    cutAfter: null,
    onCut: () => undefined,
    downloads: [],
    address: world.address.replace(target.origin, `http://127.0.0.1:${port}`),
  };
  await world.app.commit({ noise: randomBytes(1_000_000).toString('hex') });
  await world.store();
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const restore = (signal?: AbortSignal) =>
  world.call(
    ['restore', '--from', line.address, ...world.withIdentity, 'local/app', '--bare', '--to', 'x'],
    signal ? { signal } : {},
  );

/** How the largest object came. */
function largest() {
  const sizes = new Map<string, number>();
  for (const { key, bytes } of line.downloads) sizes.set(key, (sizes.get(key) ?? 0) + bytes);
  const [key] = [...sizes].sort(([, one], [, other]) => other - one)[0] ?? [''];
  return line.downloads.filter((one) => one.key === key);
}

it('goes on where a download was cut', async () => {
  line.cutAfter = 300_000;
  expect((await restore()).code).toBe(0);
  expect(await refsOf(join(world.elsewhere, 'x'))).toEqual(await refsOf(world.app.path));
  const parts = largest();
  expect(parts.length).toBeGreaterThan(2);
  // Each begins where what has come before ends, so that no byte comes twice.
  for (const [index, { from }] of parts.entries()) {
    const before = parts.slice(0, index).reduce((sum, { bytes }) => sum + bytes, 0);
    expect(from).toBeLessThanOrEqual(before);
    expect(index === 0 || from > 0).toBe(true);
  }
});

it('goes on after the command was stopped, and keeps what was complete', async () => {
  line.cutAfter = 300_000;
  const stop = new AbortController();
  let cuts = 0;
  line.onCut = () => {
    if (++cuts === 2) stop.abort(new Error('stopped'));
  };
  await expect(restore(stop.signal)).rejects.toThrow('stopped');
  expect(
    (await readdir(world.elsewhere)).filter((name) => name.startsWith('.download-')),
  ).toHaveLength(1);
  const before = largest();
  const complete = line.downloads.filter(({ key }) => key !== before[0]?.key).map(({ key }) => key);
  expect(complete).not.toEqual([]);
  line.downloads = [];
  line.cutAfter = null;
  expect((await restore()).code).toBe(0);
  expect(line.downloads.map(({ key }) => key)).toEqual([before[0]?.key]);
  expect(line.downloads[0]?.from).toBeGreaterThan(0);
  expect(await refsOf(join(world.elsewhere, 'x'))).toEqual(await refsOf(world.app.path));
  expect((await readdir(world.elsewhere)).sort()).toEqual(['identity.txt', 'x']);
});

it('shows on a terminal how much has come', async () => {
  const args = ['restore', '--from', world.address, ...world.withIdentity, 'local/app'];
  const { stderr } = await world.call([...args, '--bare', '--to', 'x'], { isTerminal: true });
  expect(stderr).toMatch(/0\/2 local\/app: downloading, [\d.]+ [KM]iB of [\d.]+ MiB/);
  expect(stderr).toMatch(/2\/2 local\/app: downloading, ([\d.]+ MiB) of \1/);
});

it('names each file that the store refuses', async () => {
  await world.store();
  world.server.fail(({ key, method }) =>
    method === 'GET' && key.includes('/objects/')
      ? { status: 403, code: 'AccessDenied' }
      : undefined,
  );
  const args = ['restore', '--from', world.address, ...world.withIdentity, '--all', '--to', 'all'];
  const { code, stderr } = await world.call(args);
  expect(code).toBe(1);
  expect(stderr.match(/was refused: .*AccessDenied/g)).toHaveLength(2);
});

it('gives up with the name of the store where nothing comes at all', async () => {
  line.cutAfter = 0;
  await expect(restore()).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: expect.stringContaining('s3://backups/'),
  });
});
