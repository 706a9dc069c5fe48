import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../../lib/platform/clock.ts';
import { ConfigError } from '../../../../lib/platform/config/read.ts';
import {
  type EmbeddedDatabase,
  openEmbeddedDatabase,
} from '../../../../lib/platform/database/embedded/open.ts';
import { silentLog } from '../../../support/databases.ts';

let parent: string;
let dataDir: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'embedded-'));
  dataDir = join(parent, 'data');
});
afterEach(() => rm(parent, { recursive: true, force: true }));

function open(listen: { port: number } | null = null): Promise<EmbeddedDatabase> {
  return openEmbeddedDatabase({ dataDir, listen, log: silentLog, clock: systemClock });
}

/** Another process with the same data directory; resolves when it has stored its row. */
async function startChild() {
  const script = fileURLToPath(new URL('./embedded-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const exit = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exit]);
  return { child, exit, errors: () => errors };
}

const countRows = { text: 'SELECT count(*)::int AS n FROM t' };

it('keeps what was stored, in a directory for its owner alone', async () => {
  const first = await open();
  await first.query({ text: 'CREATE TABLE t (a int)' });
  await first.query({ text: 'INSERT INTO t VALUES (1)' });
  await first.close();
  expect((await stat(join(dataDir, 'postgres'))).mode & 0o777).toBe(0o700);
  expect((await readdir(dataDir)).sort()).toEqual(['lock.sqlite', 'postgres']);

  const second = await open();
  expect(await second.query(countRows)).toEqual([{ n: 1 }]);
  await second.close();
});

it('is refused to another process, and free again when that one was killed', async () => {
  const { child, exit, errors } = await startChild();
  expect(errors()).toBe('');
  await expect(open()).rejects.toThrow(new ConfigError('DATA_DIR is in use by another process'));

  child.kill('SIGKILL');
  await exit;
  const db = await open();
  expect(await db.query(countRows)).toEqual([{ n: 1 }]);
  await db.close();
});

it('is refused a second time in one process', async () => {
  const db = await open();
  await expect(open()).rejects.toThrow('DATA_DIR is in use');
  await db.close();
});

it('begins anew where a first start was interrupted', async () => {
  await mkdir(join(dataDir, 'postgres'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
  await writeFile(join(dataDir, 'postgres.unfinished'), '');
  const db = await open();
  expect(await db.query({ text: 'SELECT 1 AS a' })).toEqual([{ a: 1 }]);
  await db.close();
});

it('says that the data is damaged, and keeps it', async () => {
  await (await open()).close();
  const control = join(dataDir, 'postgres', 'global', 'pg_control');
  await truncate(control, 100);
  await expect(open()).rejects.toThrow(ConfigError);
  await expect(open()).rejects.toThrow(/^DATA_DIR holds an embedded database .* damaged$/);
  expect((await stat(control)).size).toBe(100);
});

it('says that the directory is none', async () => {
  await writeFile(dataDir, '');
  await expect(open()).rejects.toThrow(new ConfigError('DATA_DIR is not a directory'));
});

it('says that the directory is not writable', async () => {
  await mkdir(dataDir, { mode: 0o500 });
  // The superuser may write anywhere.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    await expect(open()).rejects.toThrow(new ConfigError('DATA_DIR is not writable'));
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

it('says that the port is taken, and leaves the directory free', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  await expect(open({ port })).rejects.toThrow(
    new ConfigError(
      `EMBEDDED_DB_PORT: port ${port} on 127.0.0.1 is in use by another program; set another, or 0 to not listen`,
    ),
  );
  other.close();
  await (await open({ port })).close();
});

it('starts again when a statement crashed it, with what was stored', async () => {
  const db = await open();
  await db.query({ text: 'CREATE TABLE t (a int)' });
  const named = { name: 'count', ...countRows };
  await db.query(named);
  const crash = `SELECT '${'['.repeat(100_000)}'::json`;
  await expect(db.query({ text: crash })).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(await db.query(named)).toEqual([{ n: 0 }]);
  await db.close();
});
