import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import bare from './bare.ts';

// The same as a plain Node server, which is how a function that accepts WebSockets is written.

export default createServer(getRequestListener(bare.fetch));
