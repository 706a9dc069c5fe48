import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';

const project = resolve(import.meta.dirname, '../..');
/** The platform's command line. */
export const vercelCli = join(project, 'tests/build/vercel-cli/node_modules/.bin/vercel');

/** Whether the platform's command line is installed. Tests that need it are skipped otherwise. */
export const hasVercelCli = existsSync(vercelCli);
if (!hasVercelCli) {
  console.warn(
    'vercel is not installed (npm install in tests/build/vercel-cli): `vercel build` is skipped',
  );
}

/** The input of a build: what `vercel deploy` uploads. */
const sources = readFileSync(join(project, '.vercelignore'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!/'))
  .map((line) => line.slice('!/'.length))
  .filter((name) => existsSync(join(project, name)));

/** A copy of the project that was built in its own folder. */
export interface BuiltProject {
  folder: string;
  /** Its folder in the Build Output API format. */
  output: string;
  /** The output of the build. */
  log: string;
  remove(): Promise<void>;
}

/**
 * Builds a copy of the project: with `vercel build`, which reads vercel.json as a deployment from git does, or with
 * `npm run build` alone. Nothing is installed or fetched.
 */
export async function buildProject(by: 'vercel' | 'npm'): Promise<BuiltProject> {
  const folder = await mkdtemp(join(tmpdir(), 'build-'));
  for (const name of ['.vercelignore', ...sources]) {
    await cp(join(project, name), join(folder, name), {
      recursive: true,
      filter: (path) => !/\/(node_modules|dist)$/.test(path),
    });
  }
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'));
  await mkdir(join(folder, '.vercel'));
  const linked = { projectId: 'prj_test', orgId: 'team_test', settings: { framework: null } };
  await writeFile(join(folder, '.vercel/project.json'), JSON.stringify(linked));
  const command = {
    vercel: [vercelCli, 'build', '--yes', '--global-config', join(folder, '.vercel/global')],
    npm: ['npm', 'run', 'build'],
  }[by];
  const [file = '', ...args] = command;
  const { all } = await execa(file, args, {
    cwd: folder,
    env: {
      VERCEL_INSTALL_COMPLETED: '1',
      VERCEL_TELEMETRY_DISABLED: '1',
      npm_config_offline: 'true',
    },
    all: true,
  });
  return {
    folder,
    output: join(folder, '.vercel/output'),
    log: all,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
