import { addAbortSignal, type Readable } from 'node:stream';
import { AppError } from '../errors.ts';

export const MAX_LINE_LENGTH = 65_536;

/**
 * Reads the first line of a stream, which may be empty, and closes it: an open pipe would keep the process
 * alive. Throws BAD_REQUEST for a line that is too long, and the signal's reason.
 */
export async function readFirstLine(input: Readable, signal?: AbortSignal): Promise<string> {
  signal?.throwIfAborted();
  if (signal) addAbortSignal(signal, input);
  let text = '';
  try {
    for await (const chunk of input.setEncoding('utf8')) {
      text += chunk;
      if (text.length > MAX_LINE_LENGTH) {
        throw new AppError('BAD_REQUEST', 'the line on stdin is too long');
      }
      if (/[\r\n]/.test(chunk)) break;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
  return text.split(/[\r\n]/, 1)[0] ?? '';
}
