import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Git, isGitFailure } from './git.ts';

interface NewRepository {
  objectFormat: 'sha1' | 'sha256';
  isBare: boolean;
}

/**
 * Creates an empty repository without hooks. Where a file system has no permissions, `git init` fails, and its files
 * are written here. Throws GitError or file system errors.
 */
export async function initRepository(
  git: Git,
  folder: string,
  { objectFormat, isBare }: NewRepository,
): Promise<void> {
  const format = `--object-format=${objectFormat}`;
  const options = ['--template=', format, '--initial-branch=main', ...(isBare ? ['--bare'] : [])];
  try {
    await git.read(['init', '--quiet', ...options, '--', folder]);
  } catch (error) {
    if (!isGitFailure(error) || !/chmod on .* failed/.test(error.message)) throw error;
    const gitDir = isBare ? folder : join(folder, '.git');
    await rm(gitDir, { recursive: true, force: true });
    await writeEmpty(gitDir, { objectFormat, isBare });
  }
}

async function writeEmpty(gitDir: string, { objectFormat, isBare }: NewRepository): Promise<void> {
  for (const name of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags']) {
    await mkdir(join(gitDir, name), { recursive: true });
  }
  const isSha1 = objectFormat === 'sha1';
  const config = [
    '[core]',
    `\trepositoryformatversion = ${isSha1 ? 0 : 1}`,
    '\tfilemode = false',
    `\tbare = ${isBare}`,
    ...(isSha1 ? [] : ['[extensions]', `\tobjectformat = ${objectFormat}`]),
    '',
  ];
  await writeFile(join(gitDir, 'config'), config.join('\n'));
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/main\n');
}
