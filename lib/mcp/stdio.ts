import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { type GuardOptions, guardTransport } from './guarded-transport.ts';
import type { CreateMcpServer } from './server.ts';

export interface StdioOptions {
  createServer: CreateMcpServer;
  guard: GuardOptions;
  stdin: Readable;
  /** Nothing but protocol is written to it. */
  stdout: Writable;
  /** Aborts when the process is told to end. */
  stopping: AbortSignal;
}

/** What runs when the client closes its side may end within this. */
const GRACE_MS = 10_000;

/**
 * Serves one client on stdin and stdout until it goes away or the process is told to end. Requests that
 * came before the end of stdin are answered, within 10 seconds; then what still runs is canceled.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { createServer, guard, stdin, stdout, stopping } = options;
  const gone = new AbortController();
  const leave = () => gone.abort();
  const server = createServer('stdio');
  const transport = guardTransport(new StdioServerTransport(stdin, stdout), guard);
  server.onclose = leave;
  stopping.addEventListener('abort', leave, { once: true });
  // A client that closed its end of stdout waits for nothing more.
  stdout.on('error', leave);
  stdin.once('end', () => {
    const late = guard.clock.sleep(GRACE_MS, gone.signal).catch(() => undefined);
    void Promise.race([transport.settled(), late]).then(leave);
  });
  await server.connect(transport);
  await aborted(gone.signal);
  await server.close();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
