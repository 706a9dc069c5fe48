import { createHostedMcpApp } from '../lib/mcp/mcp-function.ts';

const app = await createHostedMcpApp(process.env);

export default { fetch: (request: Request) => app.fetch(request) };
