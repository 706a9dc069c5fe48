import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasVercelCli } from '../support/build-output.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { deployToStandIn } from '../support/vercel-deploy.ts';

// What `vercel deploy` uploads from the folder that it is started in.

const project = resolve(import.meta.dirname, '../..');

const folder = useTemporaryFolder();
beforeEach(async () => {
  for (const name of ['.vercelignore', '.gitignore', '.npmrc', 'package.json', 'vercel.json']) {
    await cp(join(project, name), join(folder, name));
  }
  const linked = { projectId: 'prj_test', orgId: 'team_test', settings: { framework: null } };
  await put('.vercel/project.json', JSON.stringify(linked));
});

async function put(path: string, text = 'INTERNAL_SECRET=a-secret-of-tests'): Promise<void> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

describe.skipIf(!hasVercelCli)('vercel deploy', () => {
  it('uploads what the build needs, and no secret, database or archive', async () => {
    const needed = [
      'api/a.ts',
      'drizzle/0.sql',
      'lib/b/c.ts',
      'package-lock.json',
      'scripts/d/e.ts',
      'web/src/main.tsx',
    ];
    const kept = ['.data/local.env', '.data/postgres/PG_VERSION', '.data/archives/a.bundle'];
    const made = ['web/dist/index.html', 'web/node_modules/a/index.js'];
    const own = ['.env', '.env.local', 'deploy.env', 'other/deploy.env', 'credentials.json'];
    for (const path of [...needed, ...kept, ...own, ...made]) await put(path);
    expect(await deployToStandIn(folder)).toEqual(
      [...needed, '.npmrc', 'package.json', 'vercel.json'].sort(),
    );
  });
});
