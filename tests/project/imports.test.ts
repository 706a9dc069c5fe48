import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// The check of the direction of imports finds violations, including those of types.

const project = resolve(import.meta.dirname, '../..');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imports-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function check(name: string, files: Record<string, string>) {
  const cwd = join(folder, name);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  }
  const config = join(project, '.dependency-cruiser.mjs');
  const { exitCode, stdout } = await execa('depcruise', ['--config', config, 'lib'], {
    cwd,
    preferLocal: true,
    localDir: project,
    reject: false,
  });
  return { exitCode, stdout };
}

const type = 'export type A = number;\n';

describe('npm run check:imports', () => {
  it('accepts a downward import', async () => {
    const { exitCode, stdout } = await check('down', {
      'lib/records/b.ts': "import type { A } from '../http/a.ts';\nexport type B = A;\n",
      'lib/http/a.ts': type,
    });
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
  });

  it.each([
    ['of a higher layer', 'lib/http/b.ts', 'lib/records/a.ts', '../records/a.ts'],
    ['of a neighbouring surface', 'lib/backups/b.ts', 'lib/worker/a.ts', '../worker/a.ts'],
  ])('rejects an import %s', async (name, from, to, specifier) => {
    const { exitCode, stdout } = await check(name, {
      [from]: `import type { A } from '${specifier}';\nexport type B = A;\n`,
      [to]: type,
    });
    expect(exitCode).toBeGreaterThan(0);
    expect(stdout).toContain(`${from} → ${to}`);
  });

  it('rejects a cycle', async () => {
    const { exitCode, stdout } = await check('circle', {
      'lib/http/a.ts': "import type { B } from './b.ts';\nexport type A = B | 1;\n",
      'lib/http/b.ts': "import type { A } from './a.ts';\nexport type B = A | 2;\n",
    });
    expect(exitCode).toBeGreaterThan(0);
    expect(stdout).toContain('no-cycles');
  });
});
