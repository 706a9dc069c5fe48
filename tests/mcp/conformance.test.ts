import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import type { Catalogue } from '../../lib/mcp/base/offers.ts';
import { startBearerProxy } from '../support/bearer-proxy.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createTestMcpApp, listenMcp, TEST_TOKEN } from '../support/mcp.ts';
import { startScript } from '../support/script.ts';
import { testTool } from '../support/tools.ts';

// The protocol's public conformance tool, in server mode. It works offline.

/** Scenarios that apply to any server. */
const general = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
];
/** Scenarios that use tools, resources and prompts with fixed names, served by the same code. */
const fixtures = [
  'tools-call-simple-text',
  'tools-call-error',
  'resources-read-text',
  'prompts-get-simple',
];
/** Scenarios about features that the server does not declare. */
const absent: Record<string, string> = {
  'logging-set-level': 'no logging capability: logs go to stderr',
  'tools-call-with-logging': 'no logging capability',
  'completion-complete': 'no completions capability: nothing has arguments to complete',
  'tools-call-image': 'tools answer with JSON',
  'tools-call-audio': 'tools answer with JSON',
  'tools-call-embedded-resource': 'tools answer with JSON',
  'tools-call-mixed-content': 'tools answer with JSON',
  'tools-call-with-progress': 'tools report no progress',
  'tools-call-sampling': 'the server asks its client nothing',
  'tools-call-elicitation': 'the server asks its client nothing',
  'elicitation-sep1034-defaults': 'the server asks its client nothing',
  'elicitation-sep1330-enums': 'the server asks its client nothing',
  'json-schema-2020-12': 'the schemas of the tools need neither $schema nor $defs',
  'resources-read-binary': 'resources are JSON',
  'resources-templates-read': 'no resource templates',
  'resources-subscribe': 'no subscriptions: the server is stateless',
  'resources-unsubscribe': 'no subscriptions: the server is stateless',
  'prompts-get-with-args': 'prompts take no arguments',
  'prompts-get-embedded-resource': 'prompts are text',
  'prompts-get-with-image': 'prompts are text',
  'server-sse-polling': 'no session ids, so that nothing can be resumed',
  'server-sse-multiple-streams': 'no session ids: the scenario warns and checks nothing',
};
const fixtureCatalogue: Catalogue = {
  tools: [
    testTool('test_simple_text', () => ({ text: 'This is a simple text response for testing.' })),
    testTool('test_error_handling', () => {
      throw new AppError('CONFLICT', 'This tool intentionally returns an error for testing');
    }),
  ],
  resources: [
    {
      uri: 'test://static-text',
      name: 'text',
      title: 'Text',
      description: 'A text.',
      read: async () => ({ text: 'This is the content of the static text resource.' }),
    },
  ],
  prompts: [
    {
      name: 'test_simple_prompt',
      title: 'Prompt',
      description: 'A prompt.',
      write: async () => [
        { role: 'user', content: { type: 'text', text: 'This is a simple prompt for testing.' } },
      ],
    },
  ],
};

const project = resolve(import.meta.dirname, '../..');
const folder = useSharedFolder();

const conformance = (...args: string[]) =>
  execa('conformance', args, {
    preferLocal: true,
    localDir: project,
    cwd: folder,
    reject: false,
    all: true,
  });

/**
 * Runs every scenario. The tool exits with 0 when exactly `failing` fail or warn, so a scenario listed there that
 * passes makes it fail, too.
 */
async function runScenarios(url: string, failing: readonly string[]) {
  const baseline = join(folder, 'failing.yml');
  await writeFile(baseline, `server:\n${failing.map((name) => `  - ${name}\n`).join('')}`);
  const proxy = await startBearerProxy(url);
  const address = `${proxy.url}/mcp`;
  const args = ['--url', address, '--suite', 'all', '--expected-failures', baseline];
  const run = await conformance('server', ...args, '--output-dir', join(folder, 'results'));
  await proxy.close();
  const passed = [...run.all.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed/gm)];
  return { exitCode: run.exitCode, output: run.all, passed: passed.map(([, name]) => name) };
}

describe('the conformance tool', () => {
  it('has no scenario that is not listed here', async () => {
    const { all } = await conformance('list', '--server');
    const listed = [...all.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual([...general, ...fixtures, ...Object.keys(absent)].sort());
  });

  it('passes the server of `npm run mcp`', async () => {
    const server = startScript('mcp', {
      args: ['--transport', 'http', '--port', '0'],
      env: { MCP_AUTH_TOKEN: TEST_TOKEN, EMBEDDED_DB_PORT: '0' },
      cwd: folder,
    });
    onTestFinished(async () => {
      server.child.kill('SIGTERM');
      await server.finished;
    });
    const [, url = ''] = await server.waitFor(/listens at (http:\/\/[^/]+)/);
    const run = await runScenarios(url, [...fixtures, ...Object.keys(absent)]);
    expect(run.exitCode, run.output).toBe(0);
    expect(run.passed).toEqual(general);
  });

  it('passes the tools, resources and prompts that it calls', async () => {
    const { app } = createTestMcpApp(
      {},
      { loadCatalogue: async () => fixtureCatalogue, serve: 'http' },
    );
    const server = await listenMcp(app);
    onTestFinished(server.close);
    const run = await runScenarios(server.url, Object.keys(absent));
    expect(run.exitCode, run.output).toBe(0);
    expect(run.passed.sort()).toEqual([...general, ...fixtures].sort());
  });
});
