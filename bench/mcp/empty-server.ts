import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';

// The cost of the SDK alone: one tool that does nothing, and a server per request, as in the SDK's example of stateless
// streamable HTTP. No token, no log.

const server = createServer(async (request, response) => {
  if (request.method === 'GET') return response.end('ok');
  const mcp = new McpServer({ name: 'empty', version: '1.0.0' });
  mcp.registerTool(
    'empty',
    { description: 'Does nothing.', inputSchema: {}, outputSchema: { done: z.boolean() } },
    () => ({
      content: [{ type: 'text', text: '{"done":true}' }],
      structuredContent: { done: true },
    }),
  );
  const transport = new StreamableHTTPServerTransport();
  response.on('close', () => mcp.close());
  await mcp.connect(transport as Transport);
  return transport.handleRequest(request, response);
});
server.listen(Number(process.env.PORT), '127.0.0.1');
