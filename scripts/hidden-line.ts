import { isCancel, password } from '@clack/prompts';
import { AppError } from '../lib/errors.ts';
import { readFirstLine } from '../lib/text/first-line.ts';

/**
 * Reads a secret: from a prompt that does not show it where stdin is a terminal, else one line of stdin,
 * empty when there is none. Throws BAD_REQUEST when the prompt was left with Ctrl-C.
 */
export async function readHiddenLine(message: string): Promise<string> {
  if (process.stdin.isTTY) {
    const given = await password({ message, output: process.stderr });
    if (isCancel(given)) throw new AppError('BAD_REQUEST', 'nothing was given');
    return given ?? '';
  }
  return readFirstLine(process.stdin);
}
