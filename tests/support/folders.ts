import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

const execute = promisify(execFile);

/** The path of a folder that is empty at the start of each test. */
export function useTemporaryFolder(): string {
  const path = newPath();
  beforeEach(() => make(path));
  afterEach(() => remove(path));
  return path;
}

/** The path of a folder that all tests of a file share. */
export function useSharedFolder(): string {
  const path = newPath();
  beforeAll(() => make(path));
  afterAll(() => remove(path));
  return path;
}

/** A separate folder, and a function to remove it, for what is not closed by a hook. */
export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = newPath();
  await make(path);
  return { path, remove: () => remove(path) };
}

/**
 * Copies the content of a folder into one that may exist, with exact times: Node's `cp` rounds them, and an archive's
 * note records milliseconds.
 */
export async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await execute('cp', ['-a', `${from}/.`, to]);
}

const newPath = () => join(tmpdir(), `test-${randomUUID().slice(0, 8)}`);
const make = (path: string) => mkdir(path, { mode: 0o700 });
const remove = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 5 });
