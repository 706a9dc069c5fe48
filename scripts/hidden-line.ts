import { isCancel, password } from '@clack/prompts';
import { AppError } from '../lib/errors.ts';
import { readFirstLine } from '../lib/text/first-line.ts';

/**
 * Reads a secret: from a hidden prompt if stdin is a terminal, else from the first line of stdin (empty if
 * there is none). Throws BAD_REQUEST if the prompt is cancelled.
 */
export async function readHiddenLine(message: string): Promise<string> {
  if (process.stdin.isTTY) {
    const input = await password({ message, output: process.stderr });
    if (isCancel(input)) throw new AppError('BAD_REQUEST', 'cancelled');
    return input ?? '';
  }
  return readFirstLine(process.stdin);
}
