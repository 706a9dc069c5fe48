import { join } from 'node:path';
import { findFreePort } from '../../../scripts/free-port.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { freePorts, startIn } from '../../support/local-start.ts';

/** `npm start` in its own process, with insight into its resources. */
export interface WatchedServer {
  url: string;
  /** Everything that it wrote. */
  output(): string;
  isAlive(): boolean;
  /** How many resources of each kind keep the process busy: `Timeout`, `TCPSocketWrap`, … */
  resources(): Promise<Record<string, number>>;
  /** Tells it to end. Resolves with its exit code when it has ended by itself, or null when it had to be killed. */
  stop(): Promise<number | null>;
}

/** The maximum time for ending: 10 seconds for requests, and some for the rest. */
const ENDS_WITHIN_MS = 20_000;

/** Starts a server in an empty folder. */
export async function startWatched(environment: Record<string, string>): Promise<WatchedServer> {
  const folder = await temporaryFolder();
  const server = await startIn(folder.path, {
    ...freePorts,
    // A server that calls itself has to know its port.
    PORT: String(await findFreePort(0)),
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'preload.ts')}`,
    ...environment,
  });
  const reports = () => server.output().match(/^resources .*$/gm) ?? [];
  return {
    url: server.url,
    output: server.output,
    isAlive: () => server.child.exitCode === null && server.child.signalCode === null,
    async resources() {
      const before = reports().length;
      server.child.kill('SIGUSR2');
      while (reports().length === before) await new Promise((done) => setTimeout(done, 20));
      return JSON.parse(reports().at(-1)?.slice('resources '.length) ?? '{}');
    },
    async stop() {
      const force = setTimeout(() => server.child.kill('SIGKILL'), ENDS_WITHIN_MS);
      server.child.kill('SIGTERM');
      const { code } = await server.finished;
      clearTimeout(force);
      await folder.remove();
      return code;
    },
  };
}
