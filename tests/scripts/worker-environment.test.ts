import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { useS3Server } from '../support/s3-server.ts';
import { runScript } from '../support/script.ts';

const folder = useTemporaryFolder();
const server = useS3Server();

it('the worker uses credentials of a bucket that are in .env', async () => {
  const lines = Object.entries(server.env).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, '.env'), lines.join(''));
  const args = ['store', 'check', '--store', server.address('empty')];
  const { stdout } = await runScript('worker', { args, cwd: folder });
  expect(stdout).toContain('it has no archive: nothing was stored there yet');
});
