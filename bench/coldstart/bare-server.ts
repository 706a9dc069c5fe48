import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import bare from './bare.ts';

// The same as a server of Node's own, which is the form of a function that takes WebSockets.

export default createServer(getRequestListener(bare.fetch));
