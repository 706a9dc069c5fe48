import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../lib/config/read.ts';
import { AppError } from '../../lib/errors.ts';
import { createBare, git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { createHostedWorker, type HostedWorker } from '../support/hosted-worker.ts';
import { rowsOf } from '../support/worker.ts';

// Input of the worker from the command line, the git host and repositories never becomes a git option, a path outside
// of its folders, a command or a terminal control sequence.

const database = useDatabase();
let bench: HostedWorker;
/** The file that an injected command would create. */
let marker: string;

beforeEach(async () => {
  bench = await createHostedWorker();
  marker = join(bench.folder, 'ran');
  await database.db.query({ text: 'TRUNCATE backup_runs, worker_repo_state CASCADE' });
});
afterEach(() => bench.close());

/** Runs the worker and returns its output, or its error if it refuses to start. */
async function run(args: string[], env: Record<string, string> = {}) {
  try {
    return await bench.run({ databaseUrl: database.url, args, env });
  } catch (error) {
    if (!(error instanceof AppError || error instanceof ConfigError)) throw error;
    return { code: 1, stdout: '', stderr: error.message };
  }
}
const results = () =>
  rowsOf<{ repo_full_name: string; status: string; error_message: string }>(
    database.db,
    'SELECT repo_full_name, status, error_message FROM backup_results ORDER BY id',
  );
/** Control characters other than line breaks and tabs, and bidirectional characters. */
const obeyed = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

/** A PATH with an ssh that records how it was called, and fails. */
async function watchSsh(): Promise<string> {
  const bin = join(bench.folder, 'bin');
  await mkdir(bin);
  const script = `#!/bin/sh\nprintf '%s\\n' "$@" >> '${bench.folder}/ssh-arguments'\nexit 1\n`;
  await writeFile(join(bin, 'ssh'), script);
  await chmod(join(bin, 'ssh'), 0o755);
  return [bin, process.env.PATH].join(delimiter);
}

describe('a --source', () => {
  const hostile = (to: string) => [
    `--upload-pack=touch ${to}`,
    `-u touch ${to}`,
    `ext::sh -c touch% ${to}`,
    `fd::17`,
    `ssh://-oProxyCommand=touch%20${to}/x`,
    `ssh://-oProxyCommand=touch%20${to}@host/x`,
    `-oProxyCommand=touch ${to}:x/y`,
    `host:-oProxyCommand=touch ${to}`,
    `host:--upload-pack=touch ${to}`,
    `user@-oProxyCommand=touch:x/y`,
    `https://host/$(touch ${to})/x`,
    `\`touch ${to}\``,
    `; touch ${to};`,
    `file://$(touch ${to})`,
    '../../../../../../etc/passwd',
    '/dev/zero',
  ];

  it('is never an option or a command', async () => {
    const PATH = await watchSsh();
    for (const source of hostile(marker)) {
      const { code, stdout, stderr } = await run(['run', `--source=${source}`], { PATH });
      expect({ source, code: code === 0 }).toEqual({ source, code: false });
      expect(existsSync(marker), source).toBe(false);
      expect(stdout + stderr).not.toMatch(obeyed);
    }
    // A valid source, to see how ssh is called.
    await run(['run', '--source=ssh://git@host/team/app'], { PATH });
    const given = await readFile(join(bench.folder, 'ssh-arguments'), 'utf8');
    expect(given).toContain('git@host\n');
    expect(given).not.toMatch(/^-(?!o$)\S*(?:Proxy|touch)/m);
    expect(given).not.toMatch(/^-oProxy/m);
  });
});

/** Hostile names of repositories from a git host. */
const names = [
  '--upload-pack=x/y',
  '-team/app',
  'team/--mirror\u001b[2J',
  'team/../../escaped',
  'team/..',
  '../team/app',
  'team/a/b',
  'team/app\u0000x',
  'team/\u001b]0;owned\u0007',
  'team/a\u202eppa',
  'team/a b; touch x',
  'team/$(touch x)',
  'C:\\team/app',
  `team/${'x'.repeat(300)}`,
];

it('a name from the git host is never a path, an option or a control sequence', async () => {
  await bench.logIn();
  await bench.add({ fullName: 'team/good' });
  for (const name of names) {
    bench.host.addRepository({ fullName: name });
    bench.host.state.installations[0]?.repositories.push(name);
  }
  const before = new Set([...(await readdir(bench.folder)), 'archives']);
  const { code, stdout, stderr } = await run(['run']);
  expect(code).toBe(1);
  expect(stdout + stderr).not.toMatch(obeyed);
  const found = await results();
  expect(found).toHaveLength(names.length + 1);
  expect(found.filter(({ status }) => status === 'completed')).toMatchObject([
    { repo_full_name: 'team/good' },
  ]);
  expect(JSON.stringify(found)).not.toMatch(/\\u00[01]|\u202e/);
  const archives = (await readdir(bench.archives)).filter((it) => it.endsWith('.bundle'));
  expect(archives).toEqual(['team__good.bundle']);
  const made = (await readdir(bench.folder)).filter((it) => !before.has(it));
  expect(made).toEqual(['archives-data']);
  const mirrors = await readdir(join(bench.folder, 'archives-data', 'mirrors'));
  expect(mirrors).toEqual(['team__good.git']);
  // Only the valid one was requested.
  const asked = bench.http.requests.map(({ path }) => path);
  expect(asked.filter((path) => !path.startsWith('/team/good.git/'))).toEqual([]);
});

describe('refs and branches', () => {
  const evil = [
    'refs/heads/--upload-pack=touch',
    'refs/heads/-c',
    'refs/tags/--exec',
    'refs/notes/-',
  ];

  it('are archived even if their names start with a dash', async () => {
    const work = await bench.add({ fullName: 'team/app' });
    const bare = join(bench.folder, 'host/team/app.git');
    for (const ref of evil) await git(bare, 'update-ref', ref, await work.git('rev-parse', 'HEAD'));
    await git(bare, 'symbolic-ref', 'HEAD', evil[0] ?? '');
    await bench.logIn();
    expect((await run(['run'])).code).toBe(0);
    const heads = await git(bench.folder, 'bundle', 'list-heads', 'archives/team__app.bundle');
    for (const ref of evil) expect(heads).toContain(` ${ref}`);
  });

  it('are pushed to by full name at the destination', async () => {
    const target = join(bench.folder, 'backups.git');
    await createBare(target);
    await git(target, 'symbolic-ref', 'HEAD', `refs/heads/--receive-pack=touch`);
    await bench.add({ fullName: 'team/app' });
    await bench.logIn();
    expect((await run(['run'], { BACKUP_REPO_PATH: target })).code).toBe(0);
    expect(await git(target, 'for-each-ref', '--format=%(refname)')).toBe(
      'refs/heads/--receive-pack=touch',
    );
  });

  it.each(['--mirror', '-q', 'ext::sh -c touch% x', 'https://u:p@host/x'])(
    'a BACKUP_REPO_PATH %j is neither an option nor a command',
    async (target) => {
      await bench.add({ fullName: 'team/app' });
      await bench.logIn();
      const { code, stdout, stderr } = await run(['run'], { BACKUP_REPO_PATH: target });
      expect(code).toBe(1);
      expect(stdout + stderr).not.toContain('u:p');
      expect(existsSync(join(bench.folder, 'x'))).toBe(false);
    },
  );
});
