import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHostedBackupsApp } from '../../lib/backups/backups-function.ts';
import { variableGroups } from '../../lib/config/groups.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/config/read.ts';
import { secretNames } from '../../lib/config/secrets.ts';
import { createHostedLiveApp } from '../../lib/live/live-function.ts';
import { createHostedMcpApp } from '../../lib/mcp/mcp-function.ts';
import { createHostedObservatoryApp } from '../../lib/observatory/observatory-function.ts';
import { findClosedPort } from '../support/down-database.ts';
import { emptyFolder } from '../support/local-start.ts';
import { runScript } from '../support/script.ts';
import { type Canary, findCanaries, findInFiles, makeCanary, plain } from './canaries.ts';

// Commands and deployed functions print no secrets either: with --help, for wrong usage, for an invalid value, or
// without the database.

let folder: Awaited<ReturnType<typeof emptyFolder>>;
let closedPort: number;

beforeAll(async () => {
  [folder, closedPort] = await Promise.all([emptyFolder(), findClosedPort()]);
});
afterAll(() => folder.remove());

/** A canary in every secret variable, in a valid form. */
function plant(): { environment: Record<string, string>; canaries: Canary[] } {
  const planted = secretNames.map((name) => {
    const needsPlain = /^(GATEWAY|RESEND|GIT_TOKEN|ALERT)/.test(name);
    const canary = makeCanary(name, needsPlain ? plain : undefined);
    if (name === 'CREDENTIALS_ENCRYPTION_KEY') {
      const value = Buffer.from(canary.core.padStart(32, '-')).toString('base64');
      return { name, canary, value };
    }
    const address = `postgres://me:${encodeURIComponent(canary.value)}@127.0.0.1:${closedPort}/db`;
    if (name === 'DATABASE_URL') return { name, canary, value: address };
    if (name === 'ALERT_CHANNELS') {
      const channel = `ntfy+http://${canary.value}@127.0.0.1:${closedPort}/topic`;
      return { name, canary, value: channel };
    }
    // Needs no credential.
    if (name.endsWith('_URL')) return { name, canary, value: `http://127.0.0.1:${closedPort}` };
    return { name, canary, value: canary.value };
  });
  return {
    environment: Object.fromEntries(planted.map(({ name, value }) => [name, value])),
    canaries: planted.map(({ canary }) => canary),
  };
}

const commands = ['start', 'migrate', 'users', 'alerts', 'worker', 'mcp', 'move', 'doctor'].filter(
  (name) => existsSync(join(import.meta.dirname, `../../scripts/${name}.ts`)),
);
const exampleArguments: Record<string, string[]> = {
  worker: ['run', '--once'],
  users: ['list'],
  alerts: ['test'],
};
const usage = commands.flatMap((name) =>
  name === 'start'
    ? [[name, []]]
    : [
        [name, ['--help']],
        [name, exampleArguments[name] ?? []],
      ],
) as [string, string[]][];

describe('no secret is written by', () => {
  it.each(usage)('npm run %s -- %j, without a database', async (name, args) => {
    const { environment, canaries } = plant();
    const env = { ...environment, BACKUP_CONFIG_DIR: join(folder.path, 'config') };
    const input = `postgres://me:${canaries[0]?.core}@127.0.0.1:${closedPort}/db\n`;
    const stdin = name === 'move' ? { stdin: input } : {};
    const { stdout, stderr } = await runScript(name, { args, env, cwd: folder.path, ...stdin });
    expect(stdout + stderr).not.toBe('');
    expect(findCanaries(stdout + stderr, canaries)).toEqual([]);
  });

  it.each(commands.filter((name) => name !== 'start'))(
    'npm run %s with a secret as an argument',
    async (name) => {
      const { environment, canaries } = plant();
      const args = [...Object.values(environment), `--${environment.INTERNAL_SECRET}`];
      const env = { ...environment, BACKUP_CONFIG_DIR: join(folder.path, 'config') };
      const run = await runScript(name, { args, env, cwd: folder.path });
      expect(run.code).not.toBe(0);
      expect(findCanaries(run.stdout + run.stderr, canaries)).toEqual([]);
    },
  );

  it('any command into a file', async () => {
    const canaries = [makeCanary('none')].map((it) => ({ ...it, core: 'cnry' }));
    expect(await findInFiles(folder.path, canaries)).toEqual([]);
  });
});

const variables = Object.values(variableGroups).flatMap((group) =>
  Object.keys(group.shape).map((name) => [name, group] as const),
);

it.each(variables)('an invalid %s is reported without its value', (name, group) => {
  const canary = makeCanary(name);
  for (const value of [canary.value, `-1 ${canary.value}`, `http://u:${canary.core}@h\n`]) {
    try {
      readConfig(group as (typeof variableGroups)['Database'], { [name]: value });
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toContain(name);
      expect(findCanaries(String(error), [canary])).toEqual([]);
    }
  }
});

describe.each<
  [string, string[], (environment: Environment, write: (line: string) => void) => unknown]
>([
  ['service API', ['/api/backups', '/health'], (env, write) => createHostedBackupsApp(env, write)],
  ['live feed', ['/api/logs/stream'], (env, write) => createHostedLiveApp(env, write)],
  ['MCP server', ['/mcp', '/sse'], (env, write) => createHostedMcpApp(env, write)],
  [
    'observatory',
    ['/auth/me', '/observatory/ready'],
    (env, write) => createHostedObservatoryApp(env, null, write),
  ],
])('the deployed %s', (_name, paths, create) => {
  it.each(['nothing', 'LOG_LEVEL', 'DATABASE_URL', 'API_REQUIRE_AUTH', 'TRUSTED_PROXIES'])(
    'with an invalid %s logs and returns no secret',
    async (bad) => {
      const { environment, canaries } = plant();
      const value = `${environment[bad] ?? ''}${canaries[0]?.value}`;
      const written: string[] = [];
      const made = (await create(
        { ...environment, ...(bad === 'nothing' ? {} : { [bad]: value }) },
        (line) => written.push(line),
      )) as { request?: App['request']; app?: App };
      const app = made.app ?? (made as App);
      for (const path of paths) {
        const headers = { 'X-Internal-Secret': environment.INTERNAL_SECRET ?? '' };
        const response = await app.request(path, { headers });
        const head = JSON.stringify([...response.headers]);
        expect(response.status === 200 || response.status >= 400).toBe(true);
        if (response.status !== 200 || path !== '/api/logs/stream') {
          expect(findCanaries(head + (await response.text()), canaries)).toEqual([]);
        }
      }
      expect(findCanaries(written.join('\n'), canaries)).toEqual([]);
    },
  );
});

interface App {
  request(path: string, init: RequestInit): Response | Promise<Response>;
}
