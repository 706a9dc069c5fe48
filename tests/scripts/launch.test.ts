import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';

const LAUNCH = resolve('scripts/launch.mjs');
const commands = ['start', 'demo', 'migrate', 'move', 'doctor', 'users', 'worker', 'mcp'];

/** A Node.js that claims to have this version. */
const withVersion = (version: string) => [
  '--import',
  `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`,
];

const run = (node: string, args: string[]) =>
  execa(node, args, { reject: false, env: { NO_COLOR: '1' } });

/** A Node.js on this machine that is too old, if there is one. */
function findOldNode(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders
    .map((folder) => join(folder, 'node'))
    .filter((path) => existsSync(path))
    .find((path) => {
      const version = execFileSync(path, ['--version']).toString();
      return Number(/^v(\d+)\./.exec(version)?.[1]) < 24;
    });
}
const oldNode = findOldNode();

describe('a command on a Node.js that is too old', () => {
  it.each(['16.20.2', '20.20.2', '22.18.0', '23.6.0'])(
    'ends with one line on version %s',
    async (version) => {
      const { exitCode, stdout, stderr } = await run(process.execPath, [
        ...withVersion(version),
        LAUNCH,
        'worker',
        '--help',
      ]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toBe(
        `Node.js 24 or newer is required, but this is ${version}: run \`npm ci\` without --ignore-scripts to install it`,
      );
    },
  );

  // Skipped if every Node.js on the machine is new enough.
  it.skipIf(oldNode === undefined)('ends with one line on a real old Node.js', async () => {
    for (const command of commands) {
      const { exitCode, stdout, stderr } = await run(oldNode ?? '', [LAUNCH, command]);
      expect({ command, exitCode, stdout }).toEqual({ command, exitCode: 1, stdout: '' });
      expect(stderr).toMatch(/^Node\.js 24 or newer is required, but this is [^\n]+$/);
    }
  });
});

it.each(['24.0.0', '25.1.0'])(
  'a command runs with its arguments on Node.js %s',
  async (version) => {
    const { exitCode, stdout } = await run(process.execPath, [
      ...withVersion(version),
      LAUNCH,
      'worker',
      'run',
      '--help',
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/Backs up git repositories/);
  },
);

it('every npm script launches its command this way', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const command of commands) {
    expect(scripts[command]).toMatch(
      new RegExp(`^node (--[^ ]+ )?scripts/launch\\.mjs ${command}$`),
    );
  }
});
