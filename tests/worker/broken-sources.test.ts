import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { copyBare, createRepository, git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { callWorker } from '../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();

/** A source that is broken in one way, and what a run says about it. */
type Broken = [
  name: string,
  breakIt: (path: string) => Promise<unknown>,
  kind: string,
  why: RegExp,
];

it('each source that cannot be read is told with a reason and a kind of its own', async () => {
  const app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
  const bare = (change: (path: string) => Promise<unknown>) => async (path: string) => {
    await copyBare(app, path);
    await change(path);
  };
  const gitFile = (text: string) => async (path: string) => {
    await mkdir(path);
    await writeFile(join(path, '.git'), text);
  };
  const main = await createRepository(join(folder, 'main'));
  await main.commit({ 'a.txt': 'a' });
  await main.git('worktree', 'add', '--quiet', join(folder, 'forgotten-worktree'), '-b', 'one');
  await rm(join(main.path, '.git/worktrees'), { recursive: true });
  const gone = await createRepository(join(folder, 'gone'));
  await gone.commit({ 'a.txt': 'a' });
  const damaged = (what: RegExp) => new RegExp(`^the repository is damaged: ${what.source}`);

  const all: Broken[] = [
    ['no-head', bare((at) => rm(join(at, 'HEAD'))), 'damaged', damaged(/it has no HEAD$/)],
    [
      'no-objects',
      bare((at) => rm(join(at, 'objects'), { recursive: true })),
      'damaged',
      damaged(/it has no objects$/),
    ],
    [
      'empty-git',
      (at) => mkdir(join(at, '.git'), { recursive: true }),
      'damaged',
      damaged(/it has no HEAD and no objects and no refs$/),
    ],
    [
      'odd-head',
      bare((at) => writeFile(join(at, 'HEAD'), 'garbage\n')),
      'damaged',
      damaged(/its HEAD names neither/),
    ],
    [
      'no-alternates',
      bare(async (at) => {
        await rm(join(at, 'objects'), { recursive: true });
        await mkdir(join(at, 'objects/info'), { recursive: true });
        await writeFile(join(at, 'objects/info/alternates'), '/nowhere/objects\n');
      }),
      'damaged',
      damaged(/it borrows objects from \/nowhere\/objects /),
    ],
    [
      'odd-config',
      bare((at) => appendFile(join(at, 'config'), '[core\n')),
      'damaged',
      damaged(/line \d+ of .*config cannot be read$/),
    ],
    [
      'odd-refs',
      bare((at) => writeFile(join(at, 'packed-refs'), 'x y\n')),
      'damaged',
      damaged(/its packed-refs has a line that names no ref \(x y\)$/),
    ],
    ['odd-git-file', gitFile('hello\n'), 'damaged', damaged(/its \.git is a file that names no/)],
    ['git-file', gitFile('gitdir: /nowhere/.git\n'), 'missing', /^its \.git leads to \/nowhere/],
    [
      'submodule',
      gitFile('gitdir: ../nowhere/.git/modules/x\n'),
      'missing',
      /^it is a submodule of \/\S+\/nowhere, which does not exist/,
    ],
    [
      'holder/worktree',
      async (at) => {
        await mkdir(join(at, '..'));
        await gone.git('worktree', 'add', '--quiet', at, '-b', 'two');
        await rm(gone.path, { recursive: true });
      },
      'missing',
      /^it is a worktree of \/\S+\/gone, which does not exist/,
    ],
    [
      'forgotten-worktree',
      async () => undefined,
      'missing',
      /^it is a worktree of \/\S+\/main, which no longer knows it: .*worktree repair/,
    ],
    ['empty', (at) => mkdir(at), 'missing', /is no git repository, and holds none$/],
    ['file', (at) => writeFile(at, 'x'), 'missing', /is a file, and no git bundle/],
    [
      'in-file/x',
      async (at) => writeFile(join(at, '..'), 'x'),
      'missing',
      /a part of this path is/,
    ],
    ['pipe', async (at) => execFileSync('mkfifo', [at]), 'missing', /is a pipe, and no git repo/],
    [
      'socket',
      (at) =>
        new Promise<void>((listening) => {
          const server = createServer().listen(at, listening);
          onTestFinished(() => void server.close());
        }),
      'missing',
      /is a socket, and no git repository$/,
    ],
    [
      'link',
      (at) => symlink('/nowhere', at),
      'missing',
      /it is a link to \/nowhere, which does not exist$/,
    ],
    ['loop', (at) => symlink('loop', at), 'missing', /is a link that leads back to itself$/],
  ];
  for (const [name, breakIt] of all) await breakIt(join(folder, name));
  const sources = all.map(([name]) => join(folder, name === 'holder/worktree' ? 'holder' : name));
  const { code, stdout } = await callWorker({
    ...{ databaseUrl: database.url, archives: join(folder, 'archives') },
    env: { DATA_DIR: join(folder, 'data'), DRILL_BUDGET_MINUTES: '0' },
    args: ['run', '--json', ...sources.flatMap((source) => ['--source', source])],
  });
  const summary = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  type Told = { source?: string; reason: string; error_message: string };
  // The refs of this one can be read.
  const failed = summary.failures.map((one: Told) => ({
    ...one,
    source: join(folder, 'no-alternates'),
  }));
  expect({ code, failed }).toMatchObject({
    code: 1,
    failed: [{ repository: 'local/no-alternates' }],
  });
  const told = new Map(
    [...summary.unread_sources, ...failed].map((one: Told) => [one.source, one] as const),
  );
  for (const [name, , reason, why] of all) {
    expect({ name, ...told.get(join(folder, name)) }).toMatchObject({
      ...{ name, reason },
      error_message: expect.stringMatching(why),
    });
  }
});

it('a repository whose HEAD names a branch that does not exist is backed up', async () => {
  const app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
  const path = join(folder, 'bare');
  await copyBare(app, path);
  await git(path, 'symbolic-ref', 'HEAD', 'refs/heads/nowhere');
  const { code } = await callWorker({
    ...{ databaseUrl: database.url, archives: join(folder, 'archives') },
    env: { DATA_DIR: join(folder, 'data'), DRILL_BUDGET_MINUTES: '0' },
    args: ['run', '--source', path],
  });
  expect(code).toBe(0);
});
