import { chown, mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { announceServer, findServer } from '../../scripts/running-server.ts';
import { silentLog } from '../support/databases.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const URL = 'http://127.0.0.1:4321';
const folder = useTemporaryFolder();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const socket = () => join(folder, 'server.sock');

async function announce(dataDir = folder, url = URL) {
  const announced = await announceServer(dataDir, url, silentLog);
  closing.push(() => announced.close());
  return announced;
}

/** Starts another program on the socket. */
async function occupy(answer: string, path = socket()): Promise<Server> {
  const server = createServer((connection) => {
    // The reader may close the connection before it has read everything.
    connection.on('error', () => connection.destroy());
    connection.end(answer);
  });
  await new Promise<void>((done) => server.listen(path, done));
  closing.push(() => new Promise((done) => server.close(done)));
  return server;
}

describe('the server of a DATA_DIR', () => {
  it('announces its address until it ends, over a socket that only its user can access', async () => {
    expect(await findServer(folder)).toBeNull();
    const announced = await announce();
    expect(await findServer(folder)).toBe(URL);
    expect((await stat(socket())).mode & 0o777).toBe(0o600);
    await announced.close();
    expect(await findServer(folder)).toBeNull();
  });

  it('creates DATA_DIR if it is missing', async () => {
    const dataDir = join(folder, 'new', 'data');
    await announce(dataDir);
    expect(await findServer(dataDir)).toBe(URL);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  });

  it('is not found through the socket of a killed server, and replaces that socket', async () => {
    const server = await occupy('', join(folder, 'was.sock'));
    await rename(join(folder, 'was.sock'), socket());
    await new Promise((done) => server.close(done));
    closing.pop();
    expect((await stat(socket())).isSocket()).toBe(true);
    expect(await findServer(folder)).toBeNull();
    await announce();
    expect(await findServer(folder)).toBe(URL);
  });

  it('does not replace a server that is already running', async () => {
    await announce();
    await announce(folder, 'http://127.0.0.1:1');
    expect(await findServer(folder)).toBe(URL);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'is ignored if another user created its socket (chown needs root)',
    async () => {
      await occupy(JSON.stringify({ url: URL }));
      expect(await findServer(folder)).toBe(URL);
      await chown(socket(), 65_534, 65_534);
      expect(await findServer(folder)).toBeNull();
    },
  );

  it.each(['', 'no JSON', '{}', '{"url":7}', '{"url":"file:///etc/passwd"}', 'x'.repeat(100_000)])(
    'is ignored if it sends %.20j',
    async (answer) => {
      await occupy(answer);
      expect(await findServer(folder)).toBeNull();
    },
  );

  it('is found in a folder whose path is too long for a socket, from a nearby folder', async () => {
    const dataDir = join(folder, 'd'.repeat(120));
    await mkdir(dataDir);
    const here = process.cwd();
    process.chdir(dataDir);
    closing.push(() => process.chdir(here));
    await announce(dataDir);
    expect(await findServer(dataDir)).toBe(URL);
  });

  it('runs without an announcement if DATA_DIR is a file', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    await announce(file);
    expect(await findServer(file)).toBeNull();
  });
});
