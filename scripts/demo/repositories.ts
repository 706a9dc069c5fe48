import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { createRandom } from './random.ts';

const DAY_MS = 86_400_000;

const author = {
  GIT_AUTHOR_NAME: 'Demo',
  GIT_AUTHOR_EMAIL: 'demo@example.com',
  GIT_COMMITTER_NAME: 'Demo',
  GIT_COMMITTER_EMAIL: 'demo@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

/** A repository of the demo. */
export interface DemoRepository {
  name: string;
  /** Its final size, mostly in one binary file, in KiB. */
  kibibytes: number;
  /** How long ago it appeared, in days. */
  age: number;
  /** How many days pass between changes, on average. */
  changesEvery: number;
}

/** A repository that is lost at its source after its first backup, so that the demo has a failure. */
export const LOST = 'legacy-crm';

export const demoRepositories: readonly DemoRepository[] = [
  { name: 'api-server', kibibytes: 640, age: 60, changesEvery: 1.2 },
  { name: 'billing', kibibytes: 310, age: 60, changesEvery: 4 },
  { name: 'brand-assets', kibibytes: 5_200, age: 60, changesEvery: 9 },
  { name: 'data-pipeline', kibibytes: 1_150, age: 41, changesEvery: 2 },
  { name: 'handbook', kibibytes: 120, age: 60, changesEvery: 3 },
  { name: 'infrastructure', kibibytes: 85, age: 60, changesEvery: 2.5 },
  { name: LOST, kibibytes: 900, age: 60, changesEvery: 20 },
  { name: 'mobile-app', kibibytes: 2_400, age: 33, changesEvery: 1.5 },
  { name: 'website', kibibytes: 760, age: 60, changesEvery: 1.6 },
];

/** Creates the repositories in a folder, and returns their paths. */
export async function createDemoRepositories(folder: string): Promise<string[]> {
  const random = createRandom(7);
  const paths: string[] = [];
  for (const { name, kibibytes, age } of demoRepositories) {
    const path = join(folder, name);
    paths.push(path);
    await mkdir(join(path, 'src'), { recursive: true });
    await git(path, ['init', '--quiet', '--initial-branch=main']);
    const readme = `# ${name}\n\nA repository of the demo.\n`;
    await commitFile(path, 'README.md', readme, 'Start the project', age);
    // Random bytes do not compress, so the archive is as large as its history says.
    const bytes = Buffer.from(Uint8Array.from({ length: kibibytes * 1024 }, () => random() * 256));
    await commitFile(path, 'src/assets.bin', bytes, 'Add the assets', age / 2);
    await commitFile(path, 'src/main.ts', `export const name = '${name}';\n`, 'Name it', 1);
  }
  return paths;
}

/** Creates a repository that is backed up once and then no longer a source, and returns its path. */
export async function createDroppedRepository(folder: string): Promise<string> {
  const path = join(folder, 'old-intranet');
  await mkdir(path, { recursive: true });
  await git(path, ['init', '--quiet', '--initial-branch=main']);
  await commitFile(path, 'README.md', '# old-intranet\n', 'Start the intranet', 400);
  await commitFile(path, 'index.html', '<h1>Intranet</h1>\n', 'Welcome everybody', 90);
  return path;
}

/** Rewrites the newest commit of a repository, as a force push does. */
export async function rewriteHistory(folder: string): Promise<void> {
  const path = join(folder, 'handbook');
  await git(path, ['reset', '--quiet', '--hard', 'HEAD~1']);
  await commitFile(path, 'rules.md', '# Rules\n', 'Replace what was there');
}

/** Writes a file in a repository and commits it, as of some days ago. */
export async function commitFile(
  repository: string,
  file: string,
  content: string | Buffer,
  message: string,
  daysAgo = 0,
): Promise<void> {
  await writeFile(join(repository, file), content);
  await git(repository, ['add', '--', file]);
  const date = new Date(Date.now() - daysAgo * DAY_MS).toISOString();
  await git(repository, ['commit', '--quiet', '-m', message], {
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
  });
}

/** Whether a folder is a repository with its whole history. */
export async function isWholeRepository(folder: string): Promise<boolean> {
  const result = await execa('git', ['-C', folder, 'rev-parse', '--is-shallow-repository'], {
    reject: false,
  });
  return result.stdout === 'false';
}

async function git(
  repository: string,
  args: string[],
  environment: Record<string, string> = {},
): Promise<void> {
  await execa('git', ['-C', repository, ...args], { env: { ...author, ...environment } });
}
