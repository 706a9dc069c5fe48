import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { git } from '../../tests/support/git.ts';

const AUTHOR = 'Ada <ada@example.org>';
const FIRST_SECOND = 1_700_000_000;

/** The contents of a generated repository. Each commit changes one file and adds 4 objects. */
export interface Size {
  commits: number;
  blobBytes: number;
}

/** Creates a bare repository with a branch `main`, packed like on a git host. */
export async function makeRepository(gitDir: string, size: Size): Promise<void> {
  await git('/', 'init', '--quiet', '--bare', '--initial-branch=main', gitDir);
  await git(gitDir, 'config', 'core.compression', '1');
  await git(gitDir, 'config', 'gc.auto', '0');
  await feed(gitDir, commits(size));
  await git(gitDir, 'update-server-info');
  if (size.commits > 1_000) await git(gitDir, 'repack', '-a', '-d', '-b', '--quiet');
}

/** Adds one commit with a new file to `main`. Returns the packed size of its objects in bytes. */
export async function addCommit(gitDir: string, bytes: number): Promise<number> {
  const before = await git(gitDir, 'rev-parse', 'main');
  await feed(gitDir, [
    Buffer.from(`${commitLines(0)}from ${before}\nM 100644 inline new/${before}\n`),
    ...data(randomBytes(bytes)),
  ]);
  const objects = await git(gitDir, 'rev-list', '--objects', 'main', `^${before}`);
  const ids = objects.split('\n').map((line) => line.slice(0, 40));
  const pack = spawn('git', [`--git-dir=${gitDir}`, 'pack-objects', '--quiet', '--stdout'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  pack.stdin.end(`${ids.join('\n')}\n`);
  let packed = 0;
  for await (const chunk of pack.stdout) packed += chunk.length;
  return packed;
}

function* commits({ commits, blobBytes }: Size): Generator<Buffer> {
  for (let n = 0; n < commits; n++) {
    yield Buffer.from(
      `${commitLines(n)}M 100644 inline d${n % 100}/f${Math.floor(n / 100) % 50}\n`,
    );
    yield* data(randomBytes(blobBytes));
    if (n % 2_500 === 0) yield Buffer.from(`reset refs/tags/v${n}\nfrom refs/heads/main\n\n`);
  }
}

function commitLines(n: number): string {
  return `commit refs/heads/main\ncommitter ${AUTHOR} ${FIRST_SECOND + n} +0000\ndata 6\nchange\n`;
}

function data(bytes: Buffer): Buffer[] {
  return [Buffer.from(`data ${bytes.length}\n`), bytes, Buffer.from('\n')];
}

async function feed(gitDir: string, stream: Iterable<Buffer>): Promise<void> {
  const child = spawn('git', [`--git-dir=${gitDir}`, 'fast-import', '--quiet'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  for (const chunk of stream) {
    if (!child.stdin.write(chunk)) await once(child.stdin, 'drain');
  }
  child.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
}
