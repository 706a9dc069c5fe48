import { resolve } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  getDefaultEnvironment,
  StdioClientTransport,
} from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPostgres } from '../support/databases.ts';
import { emptyFolder, startIn } from '../support/local-start.ts';
import { connectClient } from '../support/mcp.ts';
import { insertRun } from '../support/records.ts';
import { startScriptedServer } from '../support/scripted-server.ts';

// The stdio server next to a server that starts, stops and moves in the meantime; all are real processes.

let folder: string;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  const made = await emptyFolder();
  folder = made.path;
  closing.push(made.remove);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const script = resolve(import.meta.dirname, '../../scripts/mcp.ts');

async function connectStdio(env: Record<string, string> = {}): Promise<Client> {
  const client = await connectClient(
    new StdioClientTransport({
      command: process.execPath,
      args: [script],
      env: { ...getDefaultEnvironment(), EMBEDDED_DB_PORT: '0', ...env },
      cwd: folder,
      stderr: 'ignore',
    }),
  );
  closing.push(() => client.close());
  return client;
}

async function start(env: Record<string, string> = {}) {
  const server = await startIn(folder, env);
  const stop = async () => {
    server.child.kill('SIGTERM');
    await server.finished;
  };
  closing.push(stop);
  return { ...server, stop };
}

const report = { subject: 'Weekly', content_markdown: '# All is well' };

async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  const [content] = result.content;
  return result.isError && content?.type === 'text' ? content.text : result.structuredContent;
}

describe('a stdio server that starts before `npm start`', () => {
  it('works as soon as a server runs, reports when it has stopped, and finds the next one', async () => {
    const client = await connectStdio();
    const missing =
      'Start it with `npm start`, or set DATABASE_URL, or BACKEND_URL for read-only access';
    expect(await call(client, 'get_dashboard_summary')).toContain(missing);
    expect(await call(client, 'send_backup_report', report)).toMatch(/start it with `npm start`/);

    const first = await start({ REPORTS_ACCEPT_INTERNAL: 'true' });
    expect(await call(client, 'get_dashboard_summary')).toMatchObject({ total_runs: 0 });
    expect(await call(client, 'get_system_health')).toMatchObject({
      database: { status: 'connected' },
      backend_api: { status: 'ok', url: first.url },
    });
    // It fails because no mail service is configured, and not because of the secret, which was created after this
    // process.
    expect(await call(client, 'send_backup_report', report)).toMatch(
      /^the observatory answered (?!401)\d{3}/,
    );

    await first.stop();
    expect(await call(client, 'get_dashboard_summary')).toContain(missing);

    const second = await start();
    expect(second.url).not.toBe(first.url);
    expect(await call(client, 'get_dashboard_summary')).toMatchObject({ total_runs: 0 });
    expect(await call(client, 'get_system_health')).toMatchObject({
      backend_api: { status: 'ok', url: second.url },
    });
    // Two servers start, and each creates or opens its database.
  });

  it('reads through the service API of a server whose database it does not know', async () => {
    const database = await createPostgres();
    closing.push(() => database.close());
    await insertRun(database.db);
    const client = await connectStdio();
    await start({ DATABASE_URL: database.url });
    expect(await call(client, 'get_dashboard_summary')).toMatchObject({ total_runs: 1 });
    expect(await call(client, 'trigger_backup_run')).toBe('trigger_backup_run needs DATABASE_URL');
  });
});

it('npm run mcp sends nothing to another program on the port of a server', async () => {
  const stranger = await startScriptedServer(() => ({ body: {} }));
  closing.push(() => stranger.close());
  const { port } = new URL(stranger.url);
  const env = { PORT: port, SERVER_PORT: port, INTERNAL_SECRET: 's'.repeat(40) };
  const client = await connectStdio(env);
  for (const [name, args] of [
    ['get_dashboard_summary', {}],
    ['get_system_health', {}],
    ['send_backup_report', report],
  ] as const) {
    await call(client, name, args);
  }
  expect(stranger.received).toEqual([]);
});

it('npm run mcp reports a variable that becomes invalid while it runs', async () => {
  const client = await connectStdio();
  const { writeFile } = await import('node:fs/promises');
  await writeFile(`${folder}/.env`, 'BACKEND_URL=no-url\n');
  expect(await call(client, 'get_dashboard_summary')).toMatch(
    /^the configuration is invalid: BACKEND_URL /,
  );
});
