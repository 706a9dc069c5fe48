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
