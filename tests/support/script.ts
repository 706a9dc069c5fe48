import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { nodeFlags } from './node-flags.ts';

export interface FinishedScript {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A script of this project as a child process, with only the environment that is given. */
export interface RunningScript {
  child: ChildProcess;
  /** Everything written so far, both streams. */
  output(): string;
  /** Resolves with the match once the output has it; rejects if the process ends without it. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  finished: Promise<FinishedScript>;
}

export interface ScriptOptions {
  args?: string[];
  env?: Record<string, string>;
  /** The folder that it runs in; never the project's, so that no developer's `.env` is read. */
  cwd: string;
  /** All of stdin, by default empty; null leaves it open. */
  stdin?: string | null;
}

const project = resolve(import.meta.dirname, '../..');

/** What every script has in its environment in tests. */
export function scriptEnvironment(cwd: string): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return { PATH, HOME: cwd, NODE_COMPILE_CACHE };
}

/** Starts `scripts/<name>.ts`. */
export function startScript(name: string, options: ScriptOptions): RunningScript {
  const { args = [], env = {}, cwd, stdin } = options;
  const script = resolve(project, 'scripts', `${name}.ts`);
  const child = spawn(process.execPath, [...nodeFlags, script, ...args], {
    cwd,
    env: { ...scriptEnvironment(cwd), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const streams = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      streams[stream] += chunk;
      for (const listener of listeners) listener();
    });
  }
  if (stdin !== null) child.stdin.end(stdin ?? '');
  const output = () => streams.stdout + streams.stderr;
  const finished = new Promise<FinishedScript>((done, fail) => {
    child.once('error', fail).once('close', (code) => {
      done({ code, ...streams });
      for (const listener of listeners) listener();
    });
  });
  return {
    child,
    output,
    finished,
    waitFor: (pattern) =>
      new Promise((found, fail) => {
        const look = () => {
          const match = pattern.exec(output());
          if (match) found(match);
          else if (child.exitCode !== null || child.signalCode !== null) {
            fail(new Error(`${name} ended without ${pattern}:\n${output()}`));
          } else return;
          listeners.delete(look);
        };
        listeners.add(look);
        look();
      }),
  };
}

/** Runs `scripts/<name>.ts` to its end. */
export function runScript(name: string, options: ScriptOptions): Promise<FinishedScript> {
  return startScript(name, options).finished;
}
