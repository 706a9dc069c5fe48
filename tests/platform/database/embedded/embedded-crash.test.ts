import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EmbeddedBackend } from '../../../../lib/platform/database/embedded/backend.ts';
import { openDataDirectory } from '../../../../lib/platform/database/embedded/data-directory.ts';
import { startPostgres } from '../../../../lib/platform/database/embedded/start-postgres.ts';
import { silentLog } from '../../../support/databases.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'embedded-crash-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const crash = `SELECT '${'['.repeat(60_000)}'::jsonb`;

it('leaves nothing that keeps the process alive once it has crashed and was closed', async () => {
  const script = fileURLToPath(new URL('./embedded-crash-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += String(chunk);
    if (said.endsWith('ready, ')) child.kill('SIGTERM');
    // What is left would keep it alive for ever: the end of the test must not wait for it.
    if (/[^0] timers$/.test(said)) child.kill('SIGKILL');
  });
  const [code] = await exit;
  expect(`${said}, exit ${code}`).toBe('57P02, 57P02, 57P02, ready, 0 timers, exit 0');
});

it('frees the memory of what crashed', async () => {
  const directory = await openDataDirectory(dataDir);
  const started: WeakRef<object>[] = [];
  const backend = await EmbeddedBackend.start({
    start: async () => {
      const postgres = await startPostgres(directory);
      started.push(new WeakRef(postgres.pglite.Module));
      return postgres;
    },
    restartable: true,
    onStopped: () => undefined,
    log: silentLog,
  });
  for (let count = 0; count < 2; count++) {
    await expect(backend.ask(crash)).rejects.toMatchObject({ code: '57P02' });
  }
  const alive = () => started.map((module) => module.deref() !== undefined);
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  await expect
    .poll(async () => {
      await nextRound();
      collectGarbage();
      await nextRound();
      return alive();
    })
    .toEqual([false, false, true]);
  await backend.close();
  await directory.release();
});
