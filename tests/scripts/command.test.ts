import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyFolder } from '../support/local-start.ts';
import { runScript } from '../support/script.ts';

let folder: Awaited<ReturnType<typeof emptyFolder>>;
beforeEach(async () => {
  folder = await emptyFolder();
});
afterEach(() => folder.remove());

describe.each(['start', 'demo'])('%s', (name) => {
  it('starts nothing for an argument that it does not know, and for --help', async () => {
    const { code, stdout } = await runScript(name, { args: ['--help'], cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: npm /) });
    for (const argument of ['--port', 'here']) {
      const refused = await runScript(name, { args: [argument], cwd: folder.path });
      expect(refused).toMatchObject({ code: 2, stdout: '' });
    }
  });
});

describe('the error of a command', () => {
  it('shows no configured secret', async () => {
    await writeFile(join(folder.path, '.env'), 'JWT_SECRET=a-value-without-form-1\n');
    const args = ['--a-value-without-form-1--a-value-without-form-2'];
    const env = { INTERNAL_SECRET: 'a-value-without-form-2' };
    const { code, stderr } = await runScript('mcp', { args, env, cwd: folder.path });
    expect(code).not.toBe(0);
    expect(stderr).toContain("unknown option '--[redacted]--[redacted]'");
    expect(stderr).not.toContain('without-form');
  });

  it('is shown even if a configuration file cannot be read', async () => {
    await mkdir(join(folder.path, '.env'));
    const { code, stderr } = await runScript('mcp', { cwd: folder.path });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^cannot read .*\n$/),
    });
  });

  it('contains its cause once', async () => {
    const args = ['restore', '--from', `file://${folder.path}/nowhere`, '--list'];
    const { code, stderr } = await runScript('worker', { args, cwd: folder.path });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `file://${folder.path}/nowhere: there is no such folder: is it mounted?\n`,
    });
  });
});

it('npm run build rejects an unknown option, and shows the valid ones', async () => {
  const { code, stderr } = await runScript('build', { args: ['--frob'], cwd: process.cwd() });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/^unknown option '--frob'[\s\S]*--out <folder>/),
  });
});

// `ls` asks whether a folder answers. One that never ends is what it is on a network drive that is gone.
it.each([
  ['start', []],
  ['doctor', []],
  ['migrate', []],
  ['users', ['list']],
  ['alerts', ['list']],
  ['move', ['--to-folder', 'packed']],
  ['worker', ['auth', 'status']],
  ['worker', ['versions']],
  ['worker', ['run', '--source', '.']],
])('npm run %s %j ends with the reason if DATA_DIR does not answer', async (name, args) => {
  const bin = join(folder.path, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'ls'), '#!/bin/sh\nexec sleep 100000\n', { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}`, DATA_DIR: 'nas', GIT_STALL_SECONDS: '1' };
  const { code, stdout, stderr } = await runScript(name, { args, env, cwd: folder.path });
  expect(code).not.toBe(0);
  expect({ stdout, stderr }).toEqual({
    stdout: '',
    stderr: `the folder ${join(folder.path, 'nas')} (DATA_DIR) has not answered for 1 s: is the disk or network drive connected?\n`,
  });
});
