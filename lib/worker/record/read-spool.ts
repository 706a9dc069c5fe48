import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type * as z from 'zod';
import { parseJson } from '../../json.ts';
import { cleanText } from '../../text/clean-text.ts';
import { MAX_SPOOL_BYTES } from './spool-file.ts';
import { type SpoolHeader, type SpoolLine, spoolHeader, spoolLine } from './spool-line.ts';

/** More than a worker writes: the size limit of a spool, and room for the end. */
const MAX_READ_BYTES = MAX_SPOOL_BYTES + 2 ** 20;
const NEWLINE = 0x0a;

/** A spool that no worker can have written. */
export class DamagedSpool extends Error {
  override readonly name = 'DamagedSpool';
}

/** The first line of a spool, and whether its last line is torn. */
interface SpoolSummary {
  /** Null if the worker was killed before the first line was on disk. */
  header: SpoolHeader | null;
  /** Whether the worker was killed while writing the last line, which is ignored. */
  isTorn: boolean;
}

/** Reads a whole spool to check it. Throws DamagedSpool, and file system errors. */
export async function checkSpool(path: string): Promise<SpoolSummary> {
  const { size } = await stat(path);
  if (size > MAX_READ_BYTES) throw new DamagedSpool(`${basename(path)} is too large`);
  let header: SpoolHeader | null = null;
  let isEnded = false;
  let number = 0;
  for await (const { text, isWhole } of readLines(path)) {
    number++;
    if (!isWhole) return { header, isTorn: true };
    if (isEnded) throw new DamagedSpool(`${basename(path)}, line ${number}: it follows the end`);
    if (header === null) header = parse(spoolHeader, text, path, number);
    else isEnded = parse(spoolLine, text, path, number).type === 'end';
  }
  return { header, isTorn: false };
}

/** The complete lines of a spool after the first. Throws like `checkSpool`. */
export async function* readSpool(path: string): AsyncGenerator<SpoolLine> {
  let number = 0;
  for await (const { text, isWhole } of readLines(path)) {
    if (++number > 1 && isWhole) yield parse(spoolLine, text, path, number);
  }
}

function parse<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  path: string,
  number: number,
): z.output<Schema> {
  const result = schema.safeParse(parseJson(text));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join('.') ?? '';
  const why = cleanText(`${where === '' ? '' : `${where}: `}${issue?.message}`, 300);
  throw new DamagedSpool(`${basename(path)}, line ${number}: ${why}`);
}

async function* readLines(path: string): AsyncGenerator<{ text: string; isWhole: boolean }> {
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      const text = Buffer.concat([...rest, chunk.subarray(start, end)]).toString();
      rest = [];
      start = end + 1;
      yield { text, isWhole: true };
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  }
  if (rest.length > 0) yield { text: '', isWhole: false };
}
