import { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { queryObjects } from 'node:v8';

// Loaded before a server's own script: asked over IPC, it says what the process holds after a collection.

process.on('message', async (asked) => {
  if (asked !== 'memory') return;
  // What a finalizer lets go of is garbage for the next collection only.
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    await turn();
  }
  const requests = queryObjects(IncomingMessage, { format: 'count' });
  const responses = queryObjects(ServerResponse, { format: 'count' });
  process.send?.({ heapUsed: process.memoryUsage().heapUsed, requests, responses });
});
// The server ends when its own work does, and never outlives the tests.
process.channel?.unref();
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
