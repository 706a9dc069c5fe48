import { Hono } from 'hono';

// The smallest possible function with this framework: the baseline for the others.

const app = new Hono();
app.get('/health', (c) => c.json({ status: 'ok' }));

export default { fetch: (request: Request) => app.fetch(request) };
