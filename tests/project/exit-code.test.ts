import { symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { beforeAll, expect, it } from 'vitest';
import { useSharedFolder } from '../support/folders.ts';

// The package that provides Postgres for the tests would otherwise end the process with exit code 0, whatever happened.

const project = resolve(import.meta.dirname, '../..');
const folder = useSharedFolder();

beforeAll(async () => {
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'));
  const server = join(project, 'tests/support/postgres-server.ts');
  const start = `import { startPostgres } from '${server}';
    export default async () => (await startPostgres()).stop;\n`;
  await writeFile(join(folder, 'start-postgres.ts'), start);
  const config = `export default { test: { globalSetup: './start-postgres.ts' } };\n`;
  await writeFile(join(folder, 'vitest.config.mjs'), config);
});

it('npm test ends with 1 when a test fails', async () => {
  const text = `import { expect, it } from 'vitest';\nit('is tried', () => expect(1).toBe(2));\n`;
  await writeFile(join(folder, 'one.test.ts'), text);
  const run = await execa('vitest', ['run', '--root', folder], {
    cwd: project,
    preferLocal: true,
    reject: false,
  });
  expect(run.exitCode, run.stdout + run.stderr).toBe(1);
});
