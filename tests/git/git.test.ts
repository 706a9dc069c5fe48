import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { createGit, GitError } from '../../lib/git/git.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';

const folder = useTemporaryFolder();
const { signal } = new AbortController();
const environment = { PATH: process.env.PATH, HOME: '/nonexistent' };
const alias = (command: string) => ['-c', `alias.act=!${command}`, 'act'];

it("git gets the user's variables, but none of ours or of another repository", async () => {
  const git = createGit(
    {
      ...environment,
      SSH_AUTH_SOCK: '/agent',
      DATABASE_URL: 'postgres://a:secret@b/c',
      INTERNAL_SECRET: 'secret',
      KV_REST_API_TOKEN: 'secret',
      SMTP_PASSWORD: 'secret',
      GIT_DIR: '/elsewhere',
      GIT_TRACE: '1',
    },
    signal,
  );
  const seen = await git.read(alias('env'), { protocols: 'https' });
  expect(seen).toMatch(/^SSH_AUTH_SOCK=\/agent$/m);
  expect(seen).toMatch(/^GIT_TERMINAL_PROMPT=0$/m);
  expect(seen).toMatch(/^GIT_ALLOW_PROTOCOL=https$/m);
  expect(seen).not.toMatch(/secret|elsewhere|GIT_TRACE/);
});

it('git may only use the given protocols', async () => {
  const git = createGit(environment, signal);
  for (const location of ['ext::echo x', 'http://127.0.0.1:1/a/b']) {
    await expect(
      git.read(['ls-remote', '--', location], { protocols: 'https:ssh:file' }),
    ).rejects.toThrow(/transport '\w+' not allowed/);
  }
});

it('git is stopped with its helpers after its timeout', async () => {
  const git = createGit(environment, signal);
  const answer = git.read(alias('sleep 600 & sleep 600'), { timeoutMs: 200 });
  await expect(answer).rejects.toThrow('did not end in time and was stopped');
});

it('git that has ended keeps no timer that would hold up the end of a command', async () => {
  const script = `
    const { createGit } = await import(${JSON.stringify(join(import.meta.dirname, '../../lib/git/git.ts'))});
    const git = createGit(process.env, new AbortController().signal);
    // Closes its error output before it ends.
    await git.read(${JSON.stringify(alias('exec 2>&-; sleep 0.2'))});
    console.log(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length);`;
  const { stdout } = await execa(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout).toBe('0');
});

it('GitError contains the output of git on one line', async () => {
  const answer = createGit(environment, signal).read(alias('printf "one\\ntwo\\n" >&2; exit 3'));
  await expect(answer).rejects.toEqual(new GitError('one two'));
});

it('GitError reports how git ended if it printed nothing', async () => {
  const answer = createGit(environment, signal).read(alias('exit 3'));
  await expect(answer).rejects.toThrow(/ended with 3$/);
});

it('a stream yields records as they arrive, and leaves no process behind if the reader stops early', async () => {
  const git = createGit(environment, signal);
  const records: string[] = [];
  for await (const record of git.stream(alias('printf "a\\nb c\\n"; sleep 600'), '\n')) {
    records.push(record);
    if (records.length === 2) break;
  }
  expect(records).toEqual(['a', 'b c']);
});

it('a stream fails if git fails after its last record', async () => {
  const git = createGit(environment, signal);
  const records: string[] = [];
  const reading = (async () => {
    for await (const record of git.stream(alias('printf "a\\0b"; exit 1'), '\0')) {
      records.push(record);
    }
  })();
  await expect(reading).rejects.toThrow(GitError);
  expect(records).toEqual(['a', 'b']);
});

it('a call of git rejects with the reason of its signal', async () => {
  const reason = new Error('stopped');
  const { path } = await createRepository(folder);
  const git = createGit(environment, AbortSignal.abort(reason));
  await expect(git.read([`--git-dir=${path}/.git`, 'status'])).rejects.toBe(reason);
});

it('git is stopped if it streams a record that is too long', async () => {
  const records = createGit(environment, signal).stream(alias('yes | tr -d "\\n"'), '\n');
  await expect(records[Symbol.asyncIterator]().next()).rejects.toThrow('a line that is too long');
});

describe('git that waits is stopped after GIT_STALL_SECONDS, with the reason:', () => {
  const git = createGit({ ...environment, GIT_STALL_SECONDS: '1' }, signal);

  it('a program that hangs', async () => {
    await expect(git.read(alias('sleep 600'))).rejects.toEqual(
      new GitError(
        'git act moved no data for 1 s and was stopped: it waited for the program sleep, such as a credential helper',
        'stalled',
      ),
    );
  });

  it('a stream whose output stays open', async () => {
    const reading = (async () => {
      for await (const _ of git.stream(alias('echo a; sleep 600'), '\n'));
    })();
    await expect(reading).rejects.toMatchObject({ fault: 'stalled' });
  });

  it('a program that ignores SIGTERM, and is not left behind', async () => {
    const pid = join(folder, 'pid');
    const command = `trap '' TERM; echo $$ >${pid}; exec >/dev/null 2>&1; while :; do sleep 1; done`;
    await expect(git.read(alias(`sh -c '${command}' & sleep 600`))).rejects.toMatchObject({
      fault: 'stalled',
    });
    const left = Number(await readFile(pid, 'utf8'));
    // One that has ended may wait for its parent to notice.
    const isOver = async () => {
      const stat = await readFile(`/proc/${left}/stat`, 'utf8').catch(() => '0 () Z');
      return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
    };
    await expect.poll(isOver).toBe(true);
  });
});

it('git that works without any output is not stopped', async () => {
  const git = createGit({ ...environment, GIT_STALL_SECONDS: '3' }, signal);
  await createRepository(join(folder, 'busy'));
  // Reads its input to its end, for longer than the limit.
  const feed = 'for i in $(seq 25); do head -c 100000 /dev/zero; sleep 0.2; done';
  const hash = alias(`(${feed}) | git hash-object --stdin`);
  expect(await git.read(hash)).toMatch(/^[0-9a-f]{40}\n$/);
});

it('a process in the background that keeps the error output open does not hold git up', async () => {
  const git = createGit(environment, signal);
  const background = "setsid sh -c 'echo $$ >&2; exec sleep 600' >/dev/null & echo done";
  let remark = '';
  const onRemarks = (text: string) => {
    remark = text;
  };
  expect(await git.read(alias(`${background}; sleep 0.2`), { onRemarks })).toBe('done\n');
  process.kill(Number(remark), 'SIGKILL');
});

it('a git that was killed is told as such, and not by what it wrote before', async () => {
  const git = createGit(environment, signal);
  const killed = git.read(alias('echo "warning: unrelated" >&2; kill -9 $PPID'));
  await expect(killed).rejects.toMatchObject({
    fault: 'stopped',
    message:
      'git act was stopped by SIGKILL, probably because memory ran out; before, it wrote: warning: unrelated',
  });
});

it.each([
  ['', 'git act ended with 1'],
  [
    'hint: a long advice\nremote: hint: and more\nfatal: the reason',
    'fatal: the reason hint: a long advice remote: hint: and more',
  ],
  ["Cloning into bare repository '/x'...\nfatal: the reason", 'fatal: the reason'],
  [
    'fatal: unknown repository extension found:\n\trefstorage\nfatal: Could not read',
    'the repository is in a format that this git does not read (the extension refstorage): a newer git reads it, so upgrade git',
  ],
  [
    'fatal: unknown repository extensions found:\n\tone\n\ttwo-b\nfatal: Could not read',
    'the repository is in a format that this git does not read (the extension one, two-b): a newer git reads it, so upgrade git',
  ],
  [
    "error: invalid value for 'extensions.objectformat': 'sha3'\nfatal: bad config",
    "the repository is in a format that this git does not read (the extension objectformat with 'sha3'): a newer git reads it, so upgrade git",
  ],
  [
    'fatal: Expected git repo version <= 1, found 2',
    'the repository is in a format that this git does not read (format version 2): a newer git reads it, so upgrade git',
  ],
  [
    'fatal: repo version is 0, but v1-only extension found:\n\n\tpreciousobjects',
    'the repository uses the extension preciousobjects, but says that it uses none: run `git config core.repositoryFormatVersion 1` in it',
  ],
])('the message for what git writes has the reason first: %j', async (written, message) => {
  const git = createGit(environment, signal);
  const text = written.replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll("'", '\\047');
  await expect(git.read(alias(`printf '${text}' >&2; exit 1`))).rejects.toThrow(
    expect.objectContaining({ message }),
  );
});
