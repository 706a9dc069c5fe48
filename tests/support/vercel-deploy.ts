import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { vercelCli } from './build-output.ts';
import { type ScriptedAnswer, startScriptedServer } from './scripted-server.ts';

const deploymentRequest = z.object({ files: z.array(z.object({ file: z.string() })) });

/** Responses of the platform's API to its command line. Everything else gets `{}`. */
const answers: [RegExp, unknown][] = [
  [/^\/v2\/user/, { user: { id: 'u', username: 'ada', email: 'ada@example.com' } }],
  [/^\/teams\//, { id: 'team_test', slug: 'team', name: 'team' }],
  [/^\/v9\/projects\//, { id: 'prj_test', name: 'project', accountId: 'team_test' }],
  [
    /\/deployments/,
    {
      ...{ id: 'dpl_1', url: 'project.vercel.app', name: 'project', target: 'production' },
      ...{ readyState: 'READY', status: 'READY', alias: [], aliasAssigned: true },
    },
  ],
];

/**
 * Deploys a folder with the platform's command line to a stand-in for its API. Returns the paths of the files that are
 * sent. Throws if the command line rejects the folder.
 */
export async function deployToStandIn(folder: string, options: string[] = []): Promise<string[]> {
  const api = await startScriptedServer(({ path }): ScriptedAnswer => {
    const [, body = {}] = answers.find(([pattern]) => pattern.test(path)) ?? [];
    return { headers: { 'Content-Type': 'application/json' }, body };
  });
  const common = ['--api', api.url, '--token', 'token', '--global-config', join(folder, '.global')];
  try {
    await execa(vercelCli, ['deploy', '--yes', ...options, ...common], {
      cwd: folder,
      env: { VERCEL_TELEMETRY_DISABLED: '1' },
    });
  } finally {
    await api.close();
  }
  const made = api.received.find(
    ({ method, path }) => method === 'POST' && path.startsWith('/v13/deployments'),
  );
  return deploymentRequest
    .parse(JSON.parse(made?.body ?? '{}'))
    .files.map(({ file }) => file)
    .sort();
}
