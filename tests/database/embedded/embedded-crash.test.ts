import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeDataDir } from '../../support/databases.ts';
import { nodeFlags } from '../../support/node-flags.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await makeDataDir('empty');
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

it('a closed database that has crashed leaves no thread or timer to keep the process alive', async () => {
  const script = fileURLToPath(new URL('./embedded-crash-child.ts', import.meta.url));
  const child = spawn(process.execPath, [...nodeFlags, script, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += String(chunk);
    if (said.endsWith('ready, ')) child.kill('SIGTERM');
    // A leftover would keep the child alive forever: the test must not wait for it.
    if (/[^0] left$/.test(said)) child.kill('SIGKILL');
  });
  const [code] = await exit;
  expect(`${said}, exit ${code}`).toBe('57P02, 57P02, 57P02, ready, 0 left, exit 0');
});
