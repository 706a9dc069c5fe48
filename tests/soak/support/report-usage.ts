import { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { queryObjects } from 'node:v8';

// Loaded before a server's own script: when asked over IPC, it reports what the process uses.

process.on('message', async (question) => {
  if (question === 'memory') process.send?.(await heldMemory());
  if (question === 'processor time') {
    const { user, system } = process.cpuUsage();
    process.send?.((user + system) / 1_000);
  }
});
// The server ends when its own work does, and never outlives the tests.
process.channel?.unref();
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

/** What the process holds after a garbage collection. */
async function heldMemory() {
  // What a finalizer releases is garbage only for the next collection.
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    await turn();
  }
  return {
    heapUsed: process.memoryUsage().heapUsed,
    requests: queryObjects(IncomingMessage, { format: 'count' }),
    responses: queryObjects(ServerResponse, { format: 'count' }),
  };
}
