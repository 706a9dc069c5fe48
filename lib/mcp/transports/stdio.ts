import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CreateMcpServer } from '../base/server.ts';
import { type GuardOptions, guardTransport } from './guarded-transport.ts';

export interface StdioOptions {
  createServer: CreateMcpServer;
  guard: GuardOptions;
  stdin: Readable;
  /** Only protocol messages are written to it. */
  stdout: Writable;
  /** Aborts when the process is told to end. */
  stopping: AbortSignal;
}

/** How long running requests may take after the client has closed stdin. */
const GRACE_MS = 10_000;

/**
 * Serves one client on stdin and stdout until it disconnects or the process is told to end. When stdin ends,
 * running requests are answered within 10 seconds and then canceled.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { createServer, guard, stdin, stdout, stopping } = options;
  const gone = new AbortController();
  const leave = () => gone.abort();
  const server = createServer('stdio');
  const transport = guardTransport(new StdioServerTransport(stdin, stdout), guard);
  server.onclose = leave;
  stopping.addEventListener('abort', leave, { once: true });
  // A client that closed stdout expects no more answers.
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
