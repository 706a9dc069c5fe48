const MAX_RECORD_LENGTH = 2 ** 20;

/** A record is longer than 1 MiB. */
export class RecordTooLong extends Error {
  override readonly name = 'RecordTooLong';
}

/**
 * Splits text into records terminated by `separator`; the last one may lack it. Throws RecordTooLong: without a limit,
 * searching again with each chunk would take quadratic time.
 */
export async function* splitRecords(
  chunks: AsyncIterable<string> | Iterable<string>,
  separator: string,
): AsyncIterable<string> {
  let rest = '';
  for await (const text of chunks) {
    const records = (rest + text).split(separator);
    rest = records.pop() ?? '';
    if (rest.length > MAX_RECORD_LENGTH) throw new RecordTooLong('a line is longer than 1 MiB');
    yield* records;
  }
  if (rest !== '') yield rest;
}
