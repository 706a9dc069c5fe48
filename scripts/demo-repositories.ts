import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

const author = {
  GIT_AUTHOR_NAME: 'Demo',
  GIT_AUTHOR_EMAIL: 'demo@example.com',
  GIT_COMMITTER_NAME: 'Demo',
  GIT_COMMITTER_EMAIL: 'demo@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

const contents: Record<string, [file: string, text: string, message: string][]> = {
  website: [
    ['index.html', '<!doctype html>\n<title>Hello</title>\n', 'Start the website'],
    ['style.css', 'body { font: 1rem/1.5 serif }\n', 'Make it readable'],
  ],
  'api-server': [
    ['main.go', 'package main\n\nfunc main() {}\n', 'Begin'],
    ['go.mod', 'module example.com/api-server\n', 'Name the module'],
  ],
  notes: [],
};

/** Creates a few small repositories in a folder, one of them empty, and returns their paths. */
export async function createDemoRepositories(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const [name, commits] of Object.entries(contents)) {
    const path = join(folder, name);
    await mkdir(path, { recursive: true });
    await git(path, 'init', '--quiet', '--initial-branch=main');
    for (const [file, text, message] of commits) await commitFile(path, file, text, message);
    paths.push(path);
  }
  return paths;
}

/** Writes a file in a repository and commits it. */
export async function commitFile(
  repository: string,
  file: string,
  text: string,
  message: string,
): Promise<void> {
  await writeFile(join(repository, file), text);
  await git(repository, 'add', '--', file);
  await git(repository, 'commit', '--quiet', '-m', message);
}

/** Whether a folder is a repository with its whole history. */
export async function isWholeRepository(folder: string): Promise<boolean> {
  const result = await execa('git', ['-C', folder, 'rev-parse', '--is-shallow-repository'], {
    reject: false,
  });
  return result.stdout === 'false';
}

async function git(repository: string, ...args: string[]): Promise<void> {
  await execa('git', ['-C', repository, ...args], { env: author });
}
