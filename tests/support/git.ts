import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Overrides what git would take from the machine: a person's name, settings, the time. */
const env = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
  // Otherwise each commit starts another process, which finds nothing to tidy up.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'maintenance.auto',
  GIT_CONFIG_VALUE_0: 'false',
};

/** Runs git in a folder and returns its output without the last newline. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await execute('git', args, { cwd: folder, env, maxBuffer: 2 ** 26 });
  return stdout.replace(/\n$/, '');
}

/** A small repository with a work tree. */
export interface TestRepository {
  path: string;
  git(...args: string[]): Promise<string>;
  /** Writes files and commits them; returns the commit's id. */
  commit(files: Record<string, string>, message?: string, at?: string): Promise<string>;
}

/** Creates a repository without commits on branch `main`. */
export async function createRepository(path: string): Promise<TestRepository> {
  await initialize(path);
  return openRepository(path);
}

/** Copies a repository with its work tree. */
export async function copyRepository(from: TestRepository, path: string): Promise<TestRepository> {
  await cp(from.path, path, { recursive: true });
  return openRepository(path);
}

function openRepository(path: string): TestRepository {
  const run = (...args: string[]) => git(path, ...args);
  return {
    path,
    git: run,
    async commit(files, message = 'change', at = '2026-01-02T03:04:05Z') {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), text);
      }
      await run('add', '--all');
      const dated = { ...env, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at };
      const args = ['commit', '--quiet', '--allow-empty', '--message', message];
      await execute('git', args, { cwd: path, env: dated });
      return readHead(path);
    },
  };
}

/** Makes what `git init` does, without the example hooks: starting git takes longer than writing two files. */
async function initialize(path: string): Promise<void> {
  const folder = join(path, '.git');
  // A repository that a test has made in another format stays.
  if (!existsSync(folder)) await writeRepository(folder, false, 'main');
}

/** Creates an empty repository without a work tree. */
export const createBare = (path: string, branch = 'main') => writeRepository(path, true, branch);

async function writeRepository(folder: string, isBare: boolean, branch: string): Promise<void> {
  await mkdir(join(folder, 'refs/heads'), { recursive: true });
  await mkdir(join(folder, 'objects'));
  await mkdir(join(folder, 'hooks'));
  await writeFile(join(folder, 'HEAD'), `ref: refs/heads/${branch}\n`);
  await writeFile(join(folder, 'config'), configOf(isBare));
}

const configOf = (isBare: boolean) => `[core]\n\trepositoryformatversion = 0\n\tbare = ${isBare}\n`;

/** Makes what `git clone --bare` does of a repository with a work tree, without starting four processes. */
export async function copyBare(from: TestRepository, to: string): Promise<void> {
  const isHistory = (path: string) => !/\/\.git\/(?:index|logs|[A-Z_]+_(?:MSG|HEAD))$/.test(path);
  await cp(join(from.path, '.git'), to, { recursive: true, filter: isHistory });
  await writeFile(join(to, 'config'), configOf(true));
}

/** The commit that HEAD points to, if there is one: git then has it in a file of its own. */
async function readHead(path: string): Promise<string> {
  const read = async (file: string) => (await readFile(join(path, '.git', file), 'utf8')).trim();
  const head = await read('HEAD');
  return head.startsWith('ref: ') ? read(head.slice('ref: '.length)) : head;
}

/** All refs of a repository or bundle as `git ls-remote` prints them, without peeled tags. */
export async function listRefs(location: string): Promise<string[]> {
  const lines = (await git(tmpdir(), 'ls-remote', location)).split('\n');
  return lines.filter((line) => line !== '' && !line.endsWith('^{}')).sort();
}

/**
 * Commits the tree of a git bomb to `main`: levels of ten identical trees, by default nine levels, so that ten small
 * objects are 10^9 files. Without files, the last level has empty folders. Returns the commit.
 */
export async function plantBomb(
  { git: run, path }: TestRepository,
  { hasFiles = true, levels = 9 } = {},
): Promise<string> {
  const makeTree = (entries: string) => feedGit(path, ['mktree'], entries);
  const tenOf = (kind: string, id: string) =>
    Array.from({ length: 10 }, (_, name) => `${kind} ${id}\t${name}\n`).join('');
  const blob = await feedGit(path, ['hash-object', '-w', '--stdin'], 'x');
  let tree = await makeTree(hasFiles ? tenOf('100644 blob', blob) : '');
  for (let level = 1; level < levels; level++) tree = await makeTree(tenOf('040000 tree', tree));
  const commit = await run('commit-tree', '-m', 'bomb', tree);
  await run('update-ref', 'refs/heads/main', commit);
  return commit;
}

/**
 * Moves main to a commit with one file at a path of some 4,000 bytes, which a clone can check out, but not below a long
 * path.
 */
export async function plantLongPath({ git: run, path }: TestRepository): Promise<void> {
  const makeTree = (entries: string) => feedGit(path, ['mktree'], entries);
  const blob = await feedGit(path, ['hash-object', '-w', '--stdin'], 'x');
  let tree = await makeTree(`100644 blob ${blob}\tfile\n`);
  for (let level = 0; level < 20; level++) {
    tree = await makeTree(`040000 tree ${tree}\t${'d'.repeat(201)}\n`);
  }
  const commit = await run('commit-tree', '-m', 'long path', tree);
  await run('update-ref', 'refs/heads/main', commit);
}

/**
 * Moves main to a commit of 62,500 files, each below 20 folders of its own: more than a million entries in some KiB.
 */
export async function plantFolders({ git: run, path }: TestRepository): Promise<void> {
  const makeTree = (entries: string) => feedGit(path, ['mktree'], entries);
  const blob = await feedGit(path, ['hash-object', '-w', '--stdin'], 'x');
  let tree = await makeTree(`100644 blob ${blob}\tfile\n`);
  for (let level = 0; level < 20; level++) tree = await makeTree(`040000 tree ${tree}\td\n`);
  for (let level = 0; level < 2; level++) {
    const names = Array.from({ length: 250 }, (_, name) => `040000 tree ${tree}\t${name}\n`);
    tree = await makeTree(names.join(''));
  }
  await run('update-ref', 'refs/heads/main', await run('commit-tree', '-m', 'folders', tree));
}

/** Moves main to a commit of 160,000 files of 64 MiB that share one small object: 10 TiB. */
export async function plantHugeFiles({ git: run, path }: TestRepository): Promise<void> {
  const makeTree = (entries: string) => feedGit(path, ['mktree'], entries);
  const listOf = (kind: string, id: string) =>
    Array.from({ length: 400 }, (_, name) => `${kind} ${id}\t${name}\n`).join('');
  const blob = await feedGit(path, ['hash-object', '-w', '--stdin'], '\0'.repeat(2 ** 26));
  const tree = await makeTree(listOf('040000 tree', await makeTree(listOf('100644 blob', blob))));
  await run('update-ref', 'refs/heads/main', await run('commit-tree', '-m', 'huge files', tree));
}

/** Points `main` to files that no file system accepts: one with a path of 4,247 bytes, and one with a name of 300. */
export async function plantUnwritable({ git: run, path }: TestRepository): Promise<void> {
  const makeTree = (entries: string) => feedGit(path, ['mktree'], entries);
  const blob = await feedGit(path, ['hash-object', '-w', '--stdin'], 'x');
  const file = (name: string) => `100644 blob ${blob}\t${name}\n`;
  let tree = await makeTree(file('file'));
  for (let level = 0; level < 21; level++) {
    tree = await makeTree(`040000 tree ${tree}\t${'d'.repeat(201)}\n`);
  }
  const entries = [`040000 tree ${tree}\tdeep\n`, file('m.txt'), file('"n\\351"'), file('z.txt')];
  tree = await makeTree([...entries, file('ö'.repeat(150))].join(''));
  await run('update-ref', 'refs/heads/main', await run('commit-tree', '-m', 'long', tree));
}

/** Runs git with a text as its standard input. */
export async function feedGit(folder: string, args: string[], text: string): Promise<string> {
  const running = execute('git', args, { cwd: folder, env });
  running.child.stdin?.end(text);
  return (await running).stdout.trim();
}
