import { Hono } from 'hono';

// The least that a function on this framework can be: what the others are measured beside.

const app = new Hono();
app.get('/health', (c) => c.json({ status: 'ok' }));

export default { fetch: (request: Request) => app.fetch(request) };
