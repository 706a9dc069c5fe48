import { resolve } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  getDefaultEnvironment,
  StdioClientTransport,
} from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tools } from '../../lib/tools/catalogue.ts';
import { connectClient, connectHttp, connectSse } from '../support/mcp.ts';
import { createMcpWorld } from '../support/mcp-world.ts';
import { startScript } from '../support/script.ts';

// The official client uses everything that the server offers, over each transport, with the server as a process.

let world: Awaited<ReturnType<typeof createMcpWorld>>;
beforeAll(async () => {
  world = await createMcpWorld();
});
afterAll(() => world.close());

interface Connection {
  client: Client;
  close(): Promise<void>;
}

const script = resolve(import.meta.dirname, '../../scripts/mcp.ts');

async function startStdio(): Promise<Connection> {
  const client = await connectClient(
    new StdioClientTransport({
      command: process.execPath,
      args: [script],
      env: { ...getDefaultEnvironment(), ...world.environment },
      cwd: world.folder,
      stderr: 'ignore',
    }),
  );
  return { client, close: () => client.close() };
}

async function startNetwork(transport: 'http' | 'sse'): Promise<Connection> {
  const server = startScript('mcp', {
    args: ['--transport', transport, '--port', '0'],
    env: world.environment,
    cwd: world.folder,
  });
  const [, url = ''] = await server.waitFor(/listens at (\S+)/);
  const client = await (transport === 'http' ? connectHttp(url) : connectSse(url));
  return {
    client,
    async close() {
      await client.close();
      server.child.kill('SIGTERM');
      expect((await server.finished).code).toBe(0);
    },
  };
}

/** The arguments of each tool, some of them as text, and what its answer must contain. */
function callsOf(runId: number): Record<string, [Record<string, unknown>, object]> {
  const repo_name = 'acme/widgets';
  return {
    get_system_health: [{}, { status: 'HEALTHY' }],
    get_dashboard_summary: [{}, { total_runs: 2, last_run_status: 'failed' }],
    get_backup_metrics: [{ days: '7' }, { period_days: 7 }],
    list_tracked_repositories: [{}, { data: [{ full_name: repo_name }] }],
    list_backup_runs: [
      { status: 'failed', limit: '1' },
      { data: [{ id: runId }], pagination: { total_items: 1 } },
    ],
    get_backup_run_details: [
      { run_id: runId },
      { run: { id: runId }, results: [{ repo_full_name: repo_name }], fixes: [{}] },
    ],
    get_execution_logs: [
      { level: 'ERROR', limit: 1 },
      { returned: 1, truncated: true },
    ],
    diagnose_backup_failure: [{}, { run_id: runId, failed_repos_count: 1 }],
    search_backup_knowledge: [{ query: 'instructions' }, { returned: 1 }],
    verify_archive_integrity: [{ repo_name }, { integrity_status: 'VALID_UNRECORDED' }],
    inspect_archive_contents: [
      { repo_name, prefix: 'src/' },
      { entries: [{ path: 'src/token.txt' }] },
    ],
    extract_backup_file: [{ repo_name, file_path: 'README.md' }, { content: '# Widgets\n' }],
    trigger_backup_run: [{ target_repo: 'Acme/Widgets' }, { target_repo: repo_name }],
    record_backup_fix: [
      { title: 'a title', description: 'a text', author: 'ada' },
      { status: 'RECORDED_IN_DATABASE' },
    ],
    send_backup_report: [{ subject: 'a subject', content_markdown: '# a report' }, {}],
  };
}

describe.each([
  ['stdio', startStdio],
  ['http', () => startNetwork('http')],
  ['sse', () => startNetwork('sse')],
] as const)('MCP over %s', (_transport, start) => {
  let connection: Connection;
  let client: Client;
  const answers: unknown[] = [];
  const note = <Answer>(answer: Answer): Answer => {
    answers.push(answer);
    return answer;
  };
  beforeAll(async () => {
    connection = await start();
    client = connection.client;
  });
  afterAll(() => connection.close());

  it('describes the server and its capabilities', async () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'backup-observatory' });
    expect(client.getServerCapabilities()).toEqual({ tools: {}, resources: {}, prompts: {} });
  });

  it('answers each of the 15 tools with structured content and the same as text', async () => {
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    const calls = callsOf(world.failedRun);
    expect(Object.keys(calls)).toEqual(listed.tools.map(({ name }) => name));
    for (const [name, [given, expected]] of Object.entries(calls)) {
      // The client itself checks the structured content against the output schema.
      const answer = note(await client.callTool({ name, arguments: given }));
      expect(answer, name).not.toHaveProperty('isError');
      expect(answer.structuredContent, name).toMatchObject(expected);
      expect(answer.content, name).toEqual([
        { type: 'text', text: JSON.stringify(answer.structuredContent) },
      ]);
    }
  });

  it('answers a failing tool with text alone', async () => {
    const answer = note(
      await client.callTool({
        name: 'extract_backup_file',
        arguments: { repo_name: 'acme/widgets', file_path: '../x' },
      }),
    );
    expect(answer).toMatchObject({ isError: true, content: [{ type: 'text' }] });
    expect(answer).not.toHaveProperty('structuredContent');
  });

  it('removes secrets from a binary file before it is encoded as base64', async () => {
    const answer = await client.callTool({
      name: 'extract_backup_file',
      arguments: { repo_name: 'acme/widgets', file_path: 'secrets.bin' },
    });
    const { content } = answer.structuredContent as { content: string };
    expect(Buffer.from(content, 'base64').toString()).toBe('\0[redacted]\0[redacted]\0');
  });

  it('reads both resources', async () => {
    const { resources } = await client.listResources();
    expect(resources.map(({ uri, name, mimeType }) => [uri, name, mimeType])).toEqual([
      ['backup://system/health', 'system health state', 'application/json'],
      ['backup://runs/latest', 'latest backup run summary', 'application/json'],
    ]);
    const read = async (uri: string) => {
      const { contents } = note(await client.readResource({ uri }));
      return JSON.parse(String((contents[0] as { text?: unknown }).text));
    };
    expect(await read('backup://system/health')).toMatchObject({ status: 'HEALTHY' });
    expect(await read('backup://runs/latest')).toMatchObject({ run: { id: world.failedRun } });
  });

  it('writes both prompts', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name, arguments: given }) => [name, given])).toEqual([
      ['diagnose-latest-failure', undefined],
      ['audit-backup-health', undefined],
    ]);
    for (const { name } of prompts) {
      const { messages } = note(await client.getPrompt({ name }));
      expect(JSON.stringify(messages)).toContain('acme/widgets');
    }
  });

  it('returns no secret in any answer', () => {
    expect(answers).toHaveLength(20);
    const all = JSON.stringify(answers);
    expect(all).toContain('[redacted]');
    for (const secret of world.secrets) expect(all).not.toContain(secret);
  });
});

it('send_backup_report reaches the observatory with the internal secret', () => {
  const reports = world.received.filter(({ path }) => path === '/observatory/reports/send');
  expect(reports).toHaveLength(3);
  for (const { method, headers, body } of reports) {
    expect(method).toBe('POST');
    expect(headers['x-internal-secret']).toBe(world.environment.INTERNAL_SECRET);
    expect(JSON.parse(body)).toEqual({ subject: 'a subject', content_markdown: '# a report' });
  }
});
