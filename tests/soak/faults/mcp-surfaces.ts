import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { connectClient, withToken } from '../../support/mcp.ts';
import { insertResult, sql } from '../../support/records.ts';
import {
  describeSuccess,
  type Ground,
  request,
  type Surface,
  WORKS,
  withoutIds,
} from './surface.ts';

/** Calls one tool with the SDK's client, over its own connection. */
async function callTool(
  { url, address }: Ground,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { ...withToken, ...address } },
  });
  const client = await connectClient(transport as Transport);
  try {
    const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
    const [content] = result.content;
    const text = content?.type === 'text' ? content.text : '';
    if (result.isError) return `tool error: ${withoutIds(text)}`;
    const { degraded_reason: reason, status } = result.structuredContent ?? {};
    if (reason) return describeSuccess(reason);
    return name === 'get_system_health' && status !== 'HEALTHY' ? `${WORKS}: ${status}` : WORKS;
  } finally {
    await client.close();
  }
}

/** A tool that reads backup data. */
export const readTool: Surface = request((ground) => callTool(ground, 'list_backup_runs'));

export const healthTool: Surface = request((ground) => callTool(ground, 'get_system_health'));

export const searchTool: Surface = request((ground) =>
  callTool(ground, 'search_backup_knowledge', { query: 'clone' }),
);

/** A tool that writes: what it requests is queued once, however often the call is repeated. */
export const triggerTool: Surface = request(
  async (ground) => {
    const target_repo = `acme/${ground.label}`;
    // Only a tracked repository can be requested.
    await insertResult(ground.db, 1, target_repo, { status: 'completed' });
    return callTool(ground, 'trigger_backup_run', { target_repo });
  },
  async ({ db, label }) => {
    const text = 'SELECT FROM backup_run_requests WHERE target_repo = $1';
    const rows = await sql(db, text, [`acme/${label}`]);
    if (rows.length > 1) throw new Error(`${rows.length} requests`);
    return rows.length === 1 ? 'the request' : 'nothing';
  },
);

/** The tool that makes the observatory mail a report. */
export const reportTool: Surface = request(
  (ground, attempt) =>
    callTool(ground, 'send_backup_report', {
      subject: `${ground.label} tool ${attempt}`,
      content_markdown: 'Well.',
    }),
  async ({ mail, label }, attempt) => {
    const subject = `${label} tool ${attempt}`;
    const mails = mail.delivered.filter((it) => it.subject === subject).length;
    if (mails > 1) throw new Error(`${mails} mails`);
    return mails === 1 ? 'mailed' : 'not mailed';
  },
);
