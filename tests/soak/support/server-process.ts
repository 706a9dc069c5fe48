import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { embeddedUrl } from '../../../lib/database/embedded/address.ts';
import type { LogRecord } from '../../support/deps.ts';
import { scriptEnvironment } from '../../support/script.ts';

/** What a process still holds after a garbage collection. */
export interface HeldMemory {
  /** Bytes of its objects. */
  heapUsed: number;
  /** Requests that it received and answers to them that are still in memory. */
  requests: number;
  responses: number;
}

/** `npm start` as it ships, in its own process, with insight into its memory. */
export interface ServerProcess {
  url: string;
  /** The URL of its embedded database. */
  databaseUrl: string;
  port: number;
  /** Every record that it logged so far. */
  logged: LogRecord[];
  /** What it holds after a garbage collection. */
  memory(): Promise<HeldMemory>;
  /** The processor time that it has used so far on all threads, in milliseconds. */
  processorMs(): Promise<number>;
  /** Ends it like Ctrl-C, and resolves with its exit code. */
  stop(): Promise<number | null>;
}

const project = resolve(import.meta.dirname, '../../..');
const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
/** The node options of `npm start`, so that what is tested is what people run. */
const startOptions: string[] = scripts.start
  .split(' ')
  .filter((word: string) => word.startsWith('--'));

/** Starts it in an empty folder with only these variables, on ports that the system chooses, with more flags of Node. */
export async function startServerProcess(
  environment: Record<string, string>,
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const cwd = await mkdtemp(join(tmpdir(), 'soak-server-'));
  const options = [
    ...startOptions,
    ...flags,
    '--expose-gc',
    '--disable-warning=ExperimentalWarning',
    '--import',
    preload,
  ];
  const child = spawn(process.execPath, [...options, join(project, 'scripts/start.ts')], {
    cwd,
    env: {
      ...scriptEnvironment(cwd),
      PORT: '0',
      EMBEDDED_DB_PORT: '0',
      LOG_LEVEL: 'warn',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ended = once(child, 'close').then(() => child.exitCode);
  const logged: LogRecord[] = [];
  const url = await readOutput(child, logged);
  return {
    url,
    databaseUrl: embeddedUrl(join(cwd, '.data')),
    port: Number(new URL(url).port),
    logged,
    memory: () => ask(child, 'memory'),
    processorMs: () => ask(child, 'processor time'),
    async stop() {
      child.kill('SIGTERM');
      const code = await ended;
      await rm(cwd, { recursive: true, force: true });
      return code;
    },
  };
}

const preload = join(import.meta.dirname, 'report-usage.ts');

/** Asks the module that was loaded before the server's script. */
async function ask<T>(child: ChildProcess, question: string): Promise<T> {
  child.send(question);
  const [answer] = await once(child, 'message');
  return answer;
}

/** Records what is logged, and resolves with the address once there is one. */
function readOutput(child: ChildProcess, logged: LogRecord[]): Promise<string> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('the server has no output');
  return new Promise((found, fail) => {
    const said: string[] = [];
    createInterface({ input: stdout }).on('line', (line) => {
      const url = /API +(http:\/\/\S+)\/api/.exec(line)?.[1];
      if (url !== undefined) found(url);
    });
    createInterface({ input: stderr }).on('line', (line) => {
      said.push(line);
      if (said.length > 100) said.shift();
      // What is not a record comes from node, such as the trace of an uncaught exception.
      if (line.startsWith('{')) logged.push(JSON.parse(line));
      else logged.push({ level: 'error', message: line });
    });
    child.once('error', fail);
    child.once('close', () => fail(new Error(`the server ended:\n${said.join('\n')}`)));
  });
}
