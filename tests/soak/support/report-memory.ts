import { IncomingMessage, ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';

// Loaded before a server's own script: asked over IPC, it says what the process holds after a collection.

process.on('message', (asked) => {
  if (asked !== 'memory') return;
  globalThis.gc?.();
  globalThis.gc?.();
  const requests = queryObjects(IncomingMessage, { format: 'count' });
  const responses = queryObjects(ServerResponse, { format: 'count' });
  process.send?.({ heapUsed: process.memoryUsage().heapUsed, requests, responses });
});
// The server ends when its own work does.
process.channel?.unref();
