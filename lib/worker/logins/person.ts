import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { cleanText } from '../../platform/clean-text.ts';
import type { OutputStream } from '../display.ts';
import { RunStopped } from '../stop.ts';

/** The desktop that a person sits at; every call may fail, where there is none. */
export interface Desktop {
  open(address: string): Promise<void>;
  copy(text: string): Promise<void>;
}

/** Where a command's words go and come from. */
export interface CommandIo {
  /** Results. */
  stdout: OutputStream;
  /** Everything else. */
  stderr: OutputStream;
  /** True when stderr is a terminal. */
  isTerminal: boolean;
  /** Answers; `isTTY` on a terminal. */
  stdin: Readable & { isTTY?: boolean };
}

/** How a command of logins talks with the person. Nothing that it is told here is a secret. */
export interface Person {
  /** True when questions can be asked. */
  readonly canAnswer: boolean;
  /** A result, on stdout. */
  print(text: string): void;
  /** A notice, on stderr. */
  say(text: string): void;
  /** Text that stands out on a terminal. */
  strong(text: string): string;
  /**
   * Asks on a terminal whether to open an address, and to copy a text first; then says what is waited
   * for. Never fails; ends when `over` aborts.
   */
  offer(offer: Offer, signal: AbortSignal): Promise<void>;
  /** A secret from a hidden prompt, or the first line of stdin. Empty when there is none. */
  askSecret(message: string): Promise<string>;
}

export interface Offer {
  message: string;
  address: string;
  /** What is put into the clipboard first. */
  copied: string | null;
  /** Said at the end. */
  waiting: string;
}

export interface PersonOptions {
  io: CommandIo;
  desktop: Desktop;
  /** Aborts with the reason of an interruption. */
  signal: AbortSignal;
  /** Called when a person leaves a question with Ctrl-C or Escape, which a terminal then gives to us. */
  cancel(reason: RunStopped): void;
}

export function createPerson({ io, desktop, signal, cancel }: PersonOptions): Person {
  const canAnswer = () => io.isTerminal && io.stdin.isTTY === true;
  const say = (text: string) => void io.stderr.write(`${text}\n`);
  const output = io.stderr as unknown as Writable;

  async function attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      say(`${what} (${cleanText(error instanceof Error ? error.message : String(error), 120)})`);
    }
  }

  return {
    get canAnswer() {
      return canAnswer();
    },
    print: (text) => void io.stdout.write(`${text}\n`),
    say,
    strong: (text) =>
      io.isTerminal ? styleText('bold', text, { stream: output as NodeJS.WriteStream }) : text,
    async offer({ message, address, copied, waiting }, over) {
      if (!canAnswer()) return say(waiting);
      const { confirm, isCancel } = await import('@clack/prompts');
      const ended = AbortSignal.any([signal, over]);
      const answer = await whileAsked(ended, (asked) =>
        confirm({ message, input: io.stdin, output, signal: asked }),
      );
      if (ended.aborted) return;
      if (isCancel(answer)) return cancel(new RunStopped('cancelled'));
      if (answer && copied !== null) {
        await attempt('The code could not be copied.', () => desktop.copy(copied));
      }
      if (answer) {
        const failed = 'The browser could not be opened: open the address yourself.';
        await attempt(failed, () => desktop.open(address));
      }
      if (!ended.aborted) say(waiting);
    },
    async askSecret(message) {
      if (!canAnswer()) return readLine(io.stdin, signal);
      const { password, isCancel } = await import('@clack/prompts');
      const answer = await whileAsked(signal, (asked) =>
        password({ message, input: io.stdin, output, signal: asked }),
      );
      signal.throwIfAborted();
      if (isCancel(answer)) throw new RunStopped('cancelled');
      return (answer ?? '').trim();
    },
  };
}

/** Asks with a signal that ends with the question: the library writes to the terminal when it aborts later. */
async function whileAsked<Answer>(
  signal: AbortSignal,
  ask: (asked: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const asked = new AbortController();
  const stop = () => asked.abort();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await ask(asked.signal);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function readLine(stdin: Readable, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: stdin, signal });
  for await (const line of lines) return line.trim();
  signal.throwIfAborted();
  return '';
}
