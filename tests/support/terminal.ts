import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { spawn } from '@lydell/node-pty';
import { nodeFlags } from './node-flags.ts';
import { scriptEnvironment } from './script.ts';

/** A script of this project on a pseudo-terminal, with only the environment that is given. */
export interface TerminalScript {
  /** Everything shown so far, with its control sequences. */
  output(): string;
  /** Resolves with the match once the output, without control sequences, has it. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Types keys. */
  type(keys: string): void;
  /** Closes the terminal, which can then no longer be written to. */
  close(): void;
  finished: Promise<{ code: number; output: string }>;
}

/** Starts `scripts/<name>.ts` in `cwd`. */
export function startOnTerminal(
  name: string,
  { args, env = {}, cwd }: { args: string[]; env?: Record<string, string>; cwd: string },
): TerminalScript {
  const script = resolve(import.meta.dirname, '../../scripts', `${name}.ts`);
  const terminal = spawn(process.execPath, [...nodeFlags, script, ...args], {
    cwd,
    cols: 100,
    rows: 40,
    name: 'xterm-256color',
    env: { ...scriptEnvironment(cwd), TERM: 'xterm-256color', ...env },
  });
  let output = '';
  let isOver = false;
  const listeners = new Set<() => void>();
  terminal.onData((text) => {
    output += text;
    for (const listener of listeners) listener();
  });
  const finished = new Promise<{ code: number; output: string }>((done) => {
    terminal.onExit(({ exitCode }) => {
      isOver = true;
      done({ code: exitCode, output });
      for (const listener of listeners) listener();
    });
  });
  return {
    output: () => output,
    finished,
    type: (keys) => terminal.write(keys),
    close: () => (terminal as typeof terminal & { destroy(): void }).destroy(),
    waitFor: (pattern) =>
      new Promise((found, fail) => {
        const look = () => {
          const match = pattern.exec(stripVTControlCharacters(output));
          if (match) found(match);
          else if (isOver) fail(new Error(`${name} ended without ${pattern}:\n${output}`));
          else return;
          listeners.delete(look);
        };
        listeners.add(look);
        look();
      }),
  };
}
