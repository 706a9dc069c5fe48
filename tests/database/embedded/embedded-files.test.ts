import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { ConfigError } from '../../../lib/config/read.ts';
import { urlOfOpenDatabase } from '../../../lib/database/embedded/address.ts';
import {
  type EmbeddedDatabase,
  openEmbeddedDatabase,
} from '../../../lib/database/embedded/open.ts';
import type { PortOptions } from '../../../lib/database/embedded/server.ts';
import { silentLog } from '../../support/databases.ts';
import { copyTemplate } from '../../support/embedded-templates.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { nodeFlags } from '../../support/node-flags.ts';

const parent = useTemporaryFolder();
let dataDir: string;
beforeEach(async () => {
  dataDir = join(parent, 'data');
});

/** Copies an empty database there, because creating one takes seconds. */
const copySound = () => copyTemplate(inject('embeddedTemplates'), dataDir, 'empty');

function open(listen: PortOptions | null = null): Promise<EmbeddedDatabase> {
  return openEmbeddedDatabase({ dataDir, listen, log: silentLog, clock: systemClock });
}

/** Starts another process with the same data directory; resolves when it has stored its row. */
async function startChild() {
  const script = fileURLToPath(new URL('./embedded-child.ts', import.meta.url));
  const child = spawn(process.execPath, [...nodeFlags, script, dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const exit = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exit]);
  return { child, exit, errors: () => errors };
}

const password = 'a long password';
const countRows = { text: 'SELECT count(*)::int AS n FROM t' };

it('the database keeps its data, in a directory accessible to its owner only', async () => {
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

it('the directory cannot be opened by two processes, and is free after one was killed', async () => {
  copySound();
  const { child, exit, errors } = await startChild();
  expect(errors()).toBe('');
  await expect(open()).rejects.toThrow(
    new RegExp(`^DATA_DIR is in use by another process: process ${child.pid} \\(.+\\), since 2`),
  );

  child.kill('SIGKILL');
  await exit;
  const db = await open();
  expect(await db.query(countRows)).toEqual([{ n: 1 }]);
  await db.close();
});

it('the directory cannot be opened twice in one process', async () => {
  copySound();
  const db = await open();
  await expect(open()).rejects.toThrow('DATA_DIR is in use');
  await db.close();
});

it('the database is created again after an interrupted first start', async () => {
  await mkdir(join(dataDir, 'postgres'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
  await writeFile(join(dataDir, 'postgres.unfinished'), '');
  const db = await open();
  expect(await db.query({ text: 'SELECT 1 AS a' })).toEqual([{ a: 1 }]);
  await db.close();
});

it('damaged data is reported and kept', async () => {
  copySound();
  const control = join(dataDir, 'postgres', 'global', 'pg_control');
  await truncate(control, 100);
  const fault = await open().catch((error) => error);
  expect(fault).toBeInstanceOf(ConfigError);
  expect(fault.message).toMatch(
    /^the embedded database in \S+\/data\/postgres is damaged \(.+\)\. Nothing was deleted\. Move that folder aside, then start again .*; the archives in \S+ are not touched/,
  );
  expect(fault.message).not.toContain('\n');
  expect((await stat(control)).size).toBe(100);
});

it.each([
  ['has no version', (folder: string) => rm(join(folder, 'PG_VERSION')), /PG_VERSION is missing/],
  ['has another version', writeTo('PG_VERSION', '17\n'), /is of Postgres 17, and this .* reads 18/],
  ['has an invalid version', writeTo('PG_VERSION', '\0\0'), /PG_VERSION contains no version/],
  ['has no control file', (folder: string) => rm(join(folder, 'global/pg_control')), /pg_control/],
  ['has noise as control file', writeTo('global/pg_control', noise(8192)), /is damaged \(.+\)/],
  ['has no catalog', (folder: string) => rm(join(folder, 'base'), { recursive: true }), /damaged/],
  ['has noise as catalog', overwriteCatalog, /is damaged \(.+\)/],
  ['has noise as settings', writeTo('postgresql.conf', noise(100)), /is damaged \(.+\)/],
])('a database that %s is reported and kept', async (_what, damage, reason) => {
  copySound();
  const folder = join(dataDir, 'postgres');
  await damage(folder);
  const before = await listFiles(folder);
  const fault = await open().catch((error) => error);
  expect(fault).toBeInstanceOf(ConfigError);
  expect(fault.message).toMatch(reason);
  expect(fault.message).toMatch(/^[^\n]+Move that folder aside[^\n]+$/);
  expect(await listFiles(folder)).toEqual(expect.arrayContaining(before));
});

/** All files except those that Postgres recreates at each start. */
async function listFiles(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.filter((file) => !file.endsWith('pg_internal.init'));
}

/** Random-looking bytes, the same each time. */
function noise(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * 197 + 101) % 256));
}

function writeTo(file: string, content: string | Buffer) {
  return (folder: string) => writeFile(join(folder, file), content);
}

/** Overwrites pg_class, pg_type and the other catalogs that are read at the start. */
async function overwriteCatalog(folder: string): Promise<void> {
  const base = join(folder, 'base', '5');
  for (const file of await readdir(base)) {
    if (/^\d+$/.test(file)) await writeFile(join(base, file), noise(8192));
  }
}

it('the database listens even if a killed process left its socket', async () => {
  copySound();
  const { child, exit } = await startChild();
  child.kill('SIGKILL');
  await exit;
  expect(await readdir(dataDir)).toContain('.s.PGSQL.5432');
  expect(await urlOfOpenDatabase(dataDir)).toBeNull();
  const db = await open();
  expect(await urlOfOpenDatabase(dataDir)).toBe(db.url);
  expect((await stat(join(dataDir, '.s.PGSQL.5432'))).mode & 0o777).toBe(0o600);
  await db.close();
  expect(await readdir(dataDir)).not.toContain('.s.PGSQL.5432');
});

describe('a path that is too long for a socket', () => {
  const cwd = process.cwd();
  afterEach(() => process.chdir(cwd));

  it('is replaced by a relative path if that is short enough', async () => {
    const near = join(parent, 'n'.repeat(100));
    await mkdir(near);
    process.chdir(near);
    dataDir = join(near, 'data');
    copySound();
    const db = await open();
    expect(await db.query({ text: 'SELECT 1 AS a' })).toEqual([{ a: 1 }]);
    await db.close();
  });

  it('is rejected if the relative path is too long as well', async () => {
    dataDir = join(parent, 'n'.repeat(100), 'data');
    await expect(open()).rejects.toThrow(
      new ConfigError(
        'the path of DATA_DIR is too long for a Unix socket: set a shorter one, or start in a folder near it',
      ),
    );
  });
});

it('a DATA_DIR that is not a directory is reported', async () => {
  await writeFile(dataDir, '');
  await expect(open()).rejects.toThrow(new ConfigError('DATA_DIR is not a directory'));
});

it('a DATA_DIR that is not writable is reported', async () => {
  await mkdir(dataDir, { mode: 0o500 });
  // root may write anywhere.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    await expect(open()).rejects.toThrow(new ConfigError('DATA_DIR is not writable'));
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

it('a taken port is reported, and leaves the directory free', async () => {
  copySound();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  await expect(open({ port, password })).rejects.toThrow(
    new ConfigError(
      `EMBEDDED_DB_PORT: port ${port} on 127.0.0.1 is in use by another program; set another, or 0 to not listen`,
    ),
  );
  other.close();
  await (await open({ port, password })).close();
});

it('the database restarts with its data after a statement crashed it', async () => {
  copySound();
  const db = await open();
  await db.query({ text: 'CREATE TABLE t (a int)' });
  const named = { name: 'count', ...countRows };
  await db.query(named);
  const crash = `SELECT '${'['.repeat(100_000)}'::json`;
  await expect(db.query({ text: crash })).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(await db.query(named)).toEqual([{ n: 0 }]);
  await db.close();
});
