import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A server in a separate process, so that it shares no event loop with the benchmark. */
export interface ServerProcess {
  url: string;
  stop(): Promise<void>;
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
/** The node options of `npm start`, so that what is measured is what people run. */
const startOptions = scripts.start.split(' ').filter((word: string) => word.startsWith('--'));

/** Starts a script that listens on PORT, and waits until one of its paths responds with 200. */
export async function startServer(
  script: string,
  port: number,
  environment: Record<string, string>,
  probe: string,
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...startOptions, script], {
    env: { PATH: process.env.PATH, ...environment, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await answering(`${url}${probe}`, child);
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 1_200; attempt++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answer = await fetch(url).catch((error: Error) => error);
    if (answer instanceof Response && answer.ok) return;
    await delay(100);
  }
  throw new Error(`nothing answers at ${url}`);
}
