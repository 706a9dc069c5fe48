import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Environment } from '../config/read.ts';
import { parseJson } from '../json.ts';
import { type Log, logLevels } from '../log/log.ts';
import { superviseGroup } from '../processes/process-group.ts';

/** Behind everything that answers requests. */
const NICENESS = 10;
/** The longest line of its output that is logged; the rest of a longer one is dropped. */
const MAX_LINE_LENGTH = 4_000;
/** As long as a timer can wait: 24 days. */
const MAX_WORKER_MS = 2 ** 31 - 1;

/** How a worker ended. */
export interface WorkerEnd {
  code: number | null;
  signal: string | null;
  /** The last line that it wrote; empty if none. */
  lastLine: string;
}

/** A worker in a process of its own. */
export interface WorkerProcess {
  ended: Promise<WorkerEnd>;
  /** Asks it to end; it is killed if it does not within five seconds. */
  stop(): void;
}

interface WorkerProcessOptions {
  /** The path of scripts/launch.mjs. */
  launcher: string;
  /** Its variables. Secrets go no other way. */
  environment: Environment;
  /** Its working directory. */
  folder: string;
  /** Its heap in MiB. */
  memoryMib: number;
  log: Log;
}

/**
 * Starts a command of the worker, with a lower priority. Its output goes to the log, which is redacted. It ends with this
 * process, however that ends.
 */
export function startWorkerProcess(
  args: readonly string[],
  { launcher, environment, folder, memoryMib, log }: WorkerProcessOptions,
): WorkerProcess {
  const flags = [`--max-old-space-size=${memoryMib}`, '--max-semi-space-size=1'];
  const child = spawn(process.execPath, [...flags, launcher, 'worker', ...args], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which Ctrl-C does not reach: the server stops it, once.
    detached: process.platform !== 'win32',
  });
  lowerPriority(child.pid, log);
  const stopping = new AbortController();
  const group = superviseGroup(child, { signal: stopping.signal, timeoutMs: MAX_WORKER_MS });
  let lastLine = '';
  const tell = (line: string) => {
    if (line.trim() === '') return;
    const record = parseJson(line) as { level?: unknown; message?: unknown } | null;
    const level = logLevels.find((name) => name === record?.level);
    if (level !== undefined && typeof record?.message === 'string') {
      const { message, time: _, level: __, ...fields } = record as Record<string, unknown>;
      lastLine = String(message);
      return log[level](String(message), { ...fields, worker: child.pid });
    }
    lastLine = line;
    log.info(line, { worker: child.pid });
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', byLine(tell));
  }
  const ended = new Promise<WorkerEnd>((resolve) => {
    const end = (code: number | null, signal: string | null) => {
      group.release();
      resolve({ code, signal, lastLine });
    };
    child.once('close', end);
    child.once('error', (error) => {
      lastLine = error.message;
      if (child.pid === undefined) end(null, null);
    });
    void group.lost.then(() => end(null, 'SIGKILL'));
  });
  return { ended, stop: () => stopping.abort() };
}

function lowerPriority(pid: number | undefined, log: Log): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICENESS);
  } catch (error) {
    log.debug('the priority of the worker could not be lowered', { error });
  }
}

/** Calls a function with each line of chunks of text, in bounded memory. */
function byLine(tell: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = chunk.split('\n');
    for (const [index, part] of lines.entries()) {
      rest += part.slice(0, MAX_LINE_LENGTH - rest.length);
      if (index === lines.length - 1) break;
      tell(rest);
      rest = '';
    }
  };
}
