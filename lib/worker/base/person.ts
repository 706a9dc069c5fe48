import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { linkSignal } from '../../async.ts';
import { messageOf } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';
import { readFirstLine } from '../../text/first-line.ts';
import type { OutputStream } from './display.ts';
import { RunStopped } from './stop.ts';

/** The user's desktop. Every call fails if there is none. */
export interface Desktop {
  open(address: string): Promise<void>;
  copy(text: string): Promise<void>;
}

/** The streams of a command. */
export interface CommandIo {
  /** For results. */
  stdout: OutputStream;
  /** For everything else. */
  stderr: OutputStream;
  /** Whether stderr is a terminal. */
  isTerminal: boolean;
  stdin: Readable & { isTTY?: boolean };
}

/** The user of a login command. Is never shown a secret. */
export interface Person {
  /** Whether the user can answer questions. */
  canAnswer(): boolean;
  /** Prints a result to stdout. */
  print(text: string): void;
  /** Prints a notice to stderr. */
  say(text: string): void;
  /** Makes text stand out on a terminal. */
  strong(text: string): string;
  /**
   * On a terminal, asks whether to copy a text and open an address; then shows `waiting`. Never fails; ends
   * when the signal aborts.
   */
  offer(offer: Offer, signal: AbortSignal): Promise<void>;
  /** Reads a secret from a hidden prompt, or the first line of stdin; empty if there is none. */
  askSecret(message: string): Promise<string>;
}

interface Offer {
  message: string;
  address: string;
  /** Copied to the clipboard first. */
  copied: string | null;
  waiting: string;
}

interface PersonOptions {
  io: CommandIo;
  desktop: Desktop;
  /** Aborts when the command is interrupted. */
  signal: AbortSignal;
  /** Called when the user cancels a prompt with Ctrl-C or Escape, which sends no signal there. */
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
      say(`${what} (${cleanText(messageOf(error), 120)})`);
    }
  }

  return {
    canAnswer,
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
        await attempt('The browser could not be opened: open the address yourself.', () =>
          desktop.open(address),
        );
      }
      if (!ended.aborted) say(waiting);
    },
    async askSecret(message) {
      if (!canAnswer()) return (await readFirstLine(io.stdin, signal)).trim();
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

/** Asks with a signal that is released afterwards: the library would write to the terminal at a later abort. */
async function whileAsked<Answer>(
  signal: AbortSignal,
  ask: (asked: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const asked = linkSignal(signal);
  return ask(asked.signal).finally(asked.release);
}
