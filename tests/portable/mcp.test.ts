import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tools as offered } from '../../lib/tools/catalogue.ts';
import { connectHttp, withToken } from '../support/mcp.ts';
import { insertRun } from '../support/records.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startWorkerd, type Workerd } from '../support/workerd.ts';

// The MCP server in workerd, used by the SDK's client.

let workerd: Workerd;
beforeAll(async () => {
  if (!hasRedisServer) return;
  workerd = await startWorkerd();
  await insertRun(workerd.database.db, { status: 'completed', total_repos: 4, successful: 4 });
});
afterAll(() => workerd?.close());

describe.skipIf(!hasRedisServer)('the MCP server in workerd', () => {
  it('reports its version, lists its tools and answers a call', async () => {
    const client = await connectHttp(`${workerd.url}/mcp`);
    expect(client.getServerVersion()).toMatchObject({ name: expect.any(String) });
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(offered.length);
    const called = await client.callTool({ name: 'get_dashboard_summary', arguments: {} });
    expect(called.structuredContent).toMatchObject({ total_runs: 1 });
    await client.close();
  });

  it.each([
    ['verify_archive_integrity', { repo_name: 'acme/widgets' }],
    ['inspect_archive_contents', { repo_name: 'acme/widgets' }],
    ['extract_backup_file', { repo_name: 'acme/widgets', file_path: 'a.txt' }],
  ])(
    'reports for %s that there are no archives here, and where to find them',
    async (name, args) => {
      const client = await connectHttp(`${workerd.url}/mcp`);
      const called = await client.callTool({ name, arguments: args });
      const text =
        'there is no archive folder (BACKUP_ARCHIVE_PATH) here: is its disk mounted? If another machine has it, run the command or `npm run mcp` there';
      expect(called).toEqual({ content: [{ type: 'text', text }], isError: true });
      await client.close();
    },
  );

  it('reports its health without a disk', async () => {
    const client = await connectHttp(`${workerd.url}/mcp`);
    const called = await client.callTool({ name: 'get_system_health', arguments: {} });
    expect(called.structuredContent).toMatchObject({
      status: 'DEGRADED',
      database: { status: 'connected' },
      storage: { total_disk_bytes: null, available_disk_bytes: null },
    });
    await client.close();
  });

  it('says which transport replaces the older one', async () => {
    const opened = await fetch(`${workerd.url}/sse`, { headers: withToken });
    expect([opened.status, await opened.json()]).toEqual([
      503,
      expect.objectContaining({
        message: 'the SSE transport needs a Node.js server: use streamable HTTP, at /mcp',
      }),
    ]);
  });
});
