import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { trySource } from '../../../lib/worker/sources/try-source.ts';
import { createRepository, git as runGit } from '../../support/git.ts';
import { startGitServer } from '../../support/git-server.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let git: string;
beforeEach(async () => {
  git = join(bench.folder, 'git');
  for (const name of ['one', 'two']) {
    const made = await createRepository(join(git, name));
    await made.commit({ 'a.txt': name });
  }
});

const worker = (args: string[], env: Record<string, string> = {}) =>
  bench.run({ databaseUrl: database.url, args, env });
const sources = (args: string[], env: Record<string, string> = {}) =>
  worker(['sources', ...args], env);
const listed = async (env: Record<string, string> = {}) =>
  JSON.parse((await sources(['list', '--json'], env)).stdout) as Record<string, unknown>[];
const rows = () => rowsOf(database.db, 'SELECT kind, address, exclude FROM sources ORDER BY id');

describe('sources add', () => {
  it('adds a repository that it has read, and says what it has', async () => {
    const server = await startGitServer();
    try {
      server.serve('team/app.git', join(git, 'one'));
      const address = `${server.url}/team/app.git`;
      const { code, stdout } = await sources(['add', address, 'git/one']);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringContaining(`${address} can be read: team/app, with 1 ref`),
      });
      expect(stdout).toMatch(/one can be read: local\/one, with 1 ref, about \d/);
      expect(await rows()).toEqual([
        { kind: 'address', address, exclude: [] },
        { kind: 'folder', address: join(git, 'one'), exclude: [] },
      ]);
    } finally {
      await server.close();
    }
  });

  it('says what a folder holds, and adds the folder, or each repository in it', async () => {
    const { code, stdout } = await sources(['add', git, '--exclude', 'old-*']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(`${git} holds 2 repositories: local/one, local/two`),
    });
    expect((await sources(['add', git, '--each'])).code).toBe(0);
    expect(await rows()).toEqual([
      { kind: 'folder', address: git, exclude: ['old-*'] },
      { kind: 'folder', address: join(git, 'one'), exclude: [] },
      { kind: 'folder', address: join(git, 'two'), exclude: [] },
    ]);
  });

  it('says how large a repository is if its git host does', async () => {
    await bench.add({ fullName: 'team/open', private: false, size: 2_048 });
    const { stdout } = await sources(['add', `${bench.host.url}/team/open.git`]);
    expect(stdout).toContain('team/open, with 1 ref, about 2.0 MiB');
  });

  it('refuses whatever cannot be backed up with the reason, and saves nothing', async () => {
    const shallow = join(bench.folder, 'shallow');
    const app = join(git, 'one');
    await writeFile(join(app, 'b.txt'), 'b');
    await runGit(app, 'add', '.');
    await runGit(app, 'commit', '--quiet', '--message=b');
    await promisify(execFile)('git', ['clone', '-q', '--depth=1', `file://${app}`, shallow]);
    await mkdir(join(bench.folder, 'nothing'));
    await writeFile(join(bench.folder, 'a-file'), 'text');
    const server = await startGitServer();
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    const faults: [string, RegExp][] = [
      ['typo', /there is no folder/],
      ['nothing', /no git repository, and holds none/],
      ['a-file', /is a file, and no git bundle/],
      [shallow, /shallow clone.*git fetch --unshallow/],
      [`${server.url}/team/typo.git`, /not found.*check the address/],
      [`http://127.0.0.1:${port}/team/app.git`, /[Ff]ailed to connect|refused/],
      ['https://ada:hunter2@git.example.com/ada/app.git', /contains credentials; remove them/],
      ['http://git.example.com/ada/app.git', /unencrypted protocol http/],
      ['ext::sh -c id', /transport helper, which is not allowed/],
      ['https:/git.example.com/ada/app.git', /without two slashes/],
      ['https://git.example.com', /no repository name/],
    ];
    try {
      for (const [address, reason] of faults) {
        const { code, stdout } = await sources(['add', address]);
        expect({ address, code, stdout }).toEqual({
          address,
          code: 1,
          stdout: expect.stringMatching(reason),
        });
        expect(stdout).toMatch(/^Not added: /);
        expect(stdout).not.toContain('hunter2');
      }
    } finally {
      await server.close();
    }
    expect(await rows()).toEqual([]);
  });

  it('refuses what is a source already, in any spelling, also by BACKUP_SOURCES', async () => {
    await sources(['add', git]);
    const again = await sources(['add', join(git, '.')]);
    expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('a source already') });
    const configured = await sources(['add', join(git, 'one')], {
      BACKUP_SOURCES: join(git, 'one'),
    });
    expect(configured).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('set by BACKUP_SOURCES already'),
    });
  });

  it('gives up a host that does not answer, without asking anything', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    try {
      const trial = await trySource(
        {
          environment: { PATH: process.env.PATH, HOME: '/nonexistent' },
          signal: new AbortController().signal,
          folder: '/',
          resolve: null,
          sizeOnHost: async () => null,
          maxMs: 300,
        },
        `http://127.0.0.1:${port}/team/app.git`,
      );
      expect(trial).toEqual({
        kind: 'refused',
        reason: expect.stringContaining('did not end in time'),
      });
    } finally {
      silent.close();
    }
  });

  it('does not lead a browser to link-local addresses', async () => {
    const deps = {
      environment: { PATH: process.env.PATH, HOME: '/nonexistent' },
      signal: new AbortController().signal,
      folder: '/',
      resolve: async (hostname: string) => (hostname === 'meta.example' ? ['169.254.169.254'] : []),
      sizeOnHost: async () => null,
    };
    const hosts = ['https://169.254.169.254', 'https://meta.example', 'ssh://git@[fe80::1]'];
    for (const host of [...hosts, 'git@meta.example:', 'https://[::ffff:169.254.169.254]']) {
      const at = host.endsWith(':') ? 'a/b' : '/a/b';
      expect(await trySource(deps, `${host}${at}`)).toEqual({
        kind: 'refused',
        reason: expect.stringContaining('link-local'),
      });
    }
  });
});

describe('sources list', () => {
  it('shows what came of each source', async () => {
    await sources(['add', git]);
    await database.db.query({
      text: `INSERT INTO sources (kind, address, key) VALUES ('folder', '${git}/typo', '${git}/typo')`,
    });
    await worker(['run']);
    const [login, folder, typo] = await listed();
    expect(login).toMatchObject({ id: 0, kind: 'login', repositories: 0, fault: null });
    expect(folder).toMatchObject({
      ...{ kind: 'folder', address: git, set_by: null, repositories: 2, failing: 0 },
      last_read_at: expect.any(String),
    });
    expect(typo).toMatchObject({
      ...{ repositories: 0, last_read_at: null },
      fault: expect.stringContaining('there is no folder'),
    });
    const { stdout } = await sources(['list']);
    expect(stdout).toContain(`${git}: folder, 2 repositories, last read `);
  });

  it('marks what a variable sets, which cannot be changed', async () => {
    const env = { BACKUP_SOURCES: git };
    const [, folder] = await listed(env);
    expect(folder).toMatchObject({ address: git, set_by: 'BACKUP_SOURCES' });
    for (const command of ['pause', 'resume', 'remove']) {
      expect(await sources([command, git], env)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('is set by BACKUP_SOURCES: change it there'),
      });
    }
  });
});

describe('sources pause and resume', () => {
  it('leave a source out, and take it back, by address, id or as the login', async () => {
    await sources(['add', git]);
    const id = (await listed())[1]?.id;
    expect((await sources(['pause', git, 'login'])).code).toBe(0);
    expect((await listed()).map(({ paused_at }) => paused_at)).toEqual([
      expect.any(String),
      expect.any(String),
    ]);
    expect((await sources(['resume', `${id}`, '0'])).code).toBe(0);
    expect((await listed()).map(({ paused_at }) => paused_at)).toEqual([null, null]);
    expect(await sources(['pause', 'nothing'])).toMatchObject({
      code: 1,
      stdout: 'There is no source nothing.\n',
    });
  });
});

describe('sources remove', () => {
  const tracked = () =>
    rowsOf<{ name: string }>(
      database.db,
      'SELECT repo_full_name AS name FROM forgotten_repositories ORDER BY 1',
    );

  it('forgets what only that source names, and keeps its archives', async () => {
    await sources(['add', git, join(git, 'one')]);
    await worker(['run']);
    const { code, stdout } = await sources(['remove', git]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(`Removed ${git}`),
    });
    expect(stdout).toContain('Its backups are kept');
    expect(await tracked()).toEqual([{ name: 'local/two' }]);
    expect(await rows()).toEqual([{ kind: 'folder', address: join(git, 'one'), exclude: [] }]);
    expect((await worker(['run'])).code).toBe(0);
    expect((await worker(['versions', 'local/two'])).code).toBe(0);
  });

  it('never removes the login', async () => {
    expect(await sources(['remove', 'login'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('pause it'),
    });
  });
});
