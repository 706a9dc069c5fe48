import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadEnvironment } from '../../lib/config/environment.ts';
import { makeLocalSecrets } from '../../lib/config/local/local-secrets.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

it('a password of the embedded database that an earlier version made too short is made anew', async () => {
  const file = join(folder, 'local.env');
  await writeFile(file, `EMBEDDED_DB_PASSWORD=${'p'.repeat(24)}\n`);
  const own = { DATA_DIR: folder, EMBEDDED_DB_PORT: '5433' };
  const { environment, made } = makeLocalSecrets(loadEnvironment(own, folder).environment, file);
  expect(made).toContain('EMBEDDED_DB_PASSWORD');
  expect(environment.EMBEDDED_DB_PASSWORD).toMatch(/^[\w-]{43}$/);
  expect(await readFile(file, 'utf8')).toContain(`=${environment.EMBEDDED_DB_PASSWORD}\n`);
  const { environment: next } = loadEnvironment(own, folder);
  expect(next.EMBEDDED_DB_PASSWORD).toBe(environment.EMBEDDED_DB_PASSWORD);
  expect(makeLocalSecrets(next, file).made).toEqual([]);
});

it('a short password of the embedded database that a person chose is kept, to be rejected', () => {
  const own = { EMBEDDED_DB_PORT: '5433', EMBEDDED_DB_PASSWORD: 'chosen-by-hand' };
  const { environment } = makeLocalSecrets(own, join(folder, 'local.env'));
  expect(environment.EMBEDDED_DB_PASSWORD).toBe('chosen-by-hand');
});
