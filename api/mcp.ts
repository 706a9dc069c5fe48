import '../lib/mcp/interpret-schemas.ts';
import { createHostedMcpApp } from '../lib/mcp/hosted.ts';

const app = await createHostedMcpApp(process.env);

export default { fetch: (request: Request) => app.fetch(request) };
