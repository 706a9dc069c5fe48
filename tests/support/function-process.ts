import { createServer, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { getRequestListener } from '@hono/node-server';

// Runs one built function in its own process, as the platform's launcher does: a module whose default export answers
// web requests, or is a server that does not listen. Prints its port on stdout.

const [handler = ''] = process.argv.slice(2);
const { default: exported } = await import(resolve(handler));
const platform = createServer();
if (exported instanceof Server) {
  platform.on('request', (request, response) => exported.emit('request', request, response));
  platform.on('upgrade', (...upgrade) => exported.emit('upgrade', ...upgrade));
} else {
  platform.on(
    'request',
    getRequestListener((request) => exported.fetch(request)),
  );
}
platform.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(platform.address() as AddressInfo).port}\n`);
});
