import type { Writable } from 'node:stream';
import type { WorkerOptions } from './command-context.ts';

/** Asks the user. Null if there is no terminal to answer on. */
export async function askToOverwrite(
  { io, signal }: Pick<WorkerOptions, 'io' | 'signal'>,
  message: string,
): Promise<boolean | null> {
  if (!io.isTerminal || io.stdin.isTTY !== true) return null;
  const { confirm } = await import('@clack/prompts');
  const output = io.stderr as unknown as Writable;
  const answer = await confirm({ message, initialValue: false, input: io.stdin, output, signal });
  signal.throwIfAborted();
  // A cancelled prompt returns a symbol.
  return answer === true;
}
