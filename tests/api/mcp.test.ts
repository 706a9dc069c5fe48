import { afterEach, describe, expect, it, vi } from 'vitest';
import { createPostgres } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { asMessage, messagesOf, TEST_TOKEN, withToken } from '../support/mcp.ts';
import { startScriptedServer } from '../support/scripted-server.ts';

const call = (name: string) => ({
  method: 'POST',
  headers: { ...withToken, ...asMessage },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
});

async function createApp(environment: Record<string, string>) {
  const lines: string[] = [];
  // Loaded before a test resets all modules, because modules that the app loads later must match.
  const { createHostedMcpApp } = await import('../../lib/mcp/mcp-function.ts');
  const app = await createHostedMcpApp(environment, (line) => lines.push(line));
  const ask = async (name: string) => {
    const [message] = await messagesOf(await app.request('/mcp', call(name)));
    return message?.result as {
      isError?: boolean;
      content: [{ text: string }];
      structuredContent: unknown;
    };
  };
  return { app, lines, ask };
}

describe('the function api/mcp.ts', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('reads the environment of its process and answers web requests', async () => {
    const { url, close } = await createPostgres();
    vi.stubEnv('DATABASE_URL', url);
    vi.stubEnv('MCP_AUTH_TOKEN', TEST_TOKEN);
    vi.stubEnv('LOG_LEVEL', 'error');
    const { default: handler } = await import('../../api/mcp.ts');
    const request = new Request('https://example.com/rpc', call('get_dashboard_summary'));
    const [message] = await messagesOf(await handler.fetch(request));
    expect(message).toMatchObject({ result: { structuredContent: { total_runs: 0 } } });
    await close();
  });
});

describe('the function without MCP_AUTH_TOKEN', () => {
  it.each(['/mcp', '/rpc', '/'])(
    'answers POST %s with 503, and logs the name of the variable',
    async (path) => {
      const { app, lines } = await createApp({ INTERNAL_SECRET: TEST_SECRET });
      expect((await app.request(path, call('get_system_health'))).status).toBe(503);
      expect(lines.join()).toContain('MCP_AUTH_TOKEN is not set');
    },
  );
});

describe('an invalid variable', () => {
  it('is logged by name, without its value, and every request gets 503', async () => {
    const { app, lines } = await createApp({ MCP_AUTH_TOKEN: TEST_TOKEN, BACKEND_URL: 'no-url' });
    expect(lines.join()).toContain('BACKEND_URL');
    expect(lines.join()).not.toContain('no-url');
    expect((await app.request('/mcp', call('get_system_health'))).status).toBe(503);
  });
});

describe('the function without DATABASE_URL', () => {
  it('lets tools report the missing variable, and keeps working', async () => {
    const { ask } = await createApp({ MCP_AUTH_TOKEN: TEST_TOKEN });
    for (const name of ['get_dashboard_summary', 'trigger_backup_run', 'diagnose_backup_failure']) {
      expect(await ask(name)).toEqual({
        content: [{ type: 'text', text: expect.stringContaining('DATABASE_URL') }],
        isError: true,
      });
    }
    expect(await ask('get_system_health')).toMatchObject({
      structuredContent: { status: 'UNHEALTHY' },
    });
  });

  it('reads data from BACKEND_URL with the internal secret, if set', async () => {
    const backend = await startScriptedServer(() => ({ status: 418, body: { error: 'a teapot' } }));
    const { ask } = await createApp({
      MCP_AUTH_TOKEN: TEST_TOKEN,
      INTERNAL_SECRET: TEST_SECRET,
      BACKEND_URL: backend.url,
    });
    const answer = await ask('get_dashboard_summary');
    expect(answer.isError).toBe(true);
    expect(answer.content[0].text).toMatch(/418.*a teapot/);
    expect(backend.received[0]?.headers['x-internal-secret']).toBe(TEST_SECRET);
    await backend.close();
  });
});
