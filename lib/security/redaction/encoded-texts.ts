import { findAll, type Range } from './ranges.ts';

/** A word of base64, also in the alphabet for URLs. */
const encoded = /[A-Za-z\d+/_-]{24,65536}={0,2}/g;
/** How much of a word is decoded to see whether it is a text at all. */
const HEAD = 16;
/** Only printable ASCII and white space: what is encoded is a configuration, a header or a token. */
const isText = /^[\t\n\r -~]*$/;

/** Finds words of base64 that encode a text with a secret. `find` finds secrets in such a text. */
export function findEncoded(text: string, find: (decoded: string) => Range[]): Range[] {
  const found: Range[] = [];
  for (const { 0: word, index } of findAll(text, encoded)) {
    if (!isText.test(decode(word.slice(0, HEAD)))) continue;
    const decoded = decode(word);
    if (isText.test(decoded) && find(decoded).length > 0) {
      found.push({ start: index, end: index + word.length });
    }
  }
  return found;
}

function decode(word: string): string {
  return Buffer.from(word, 'base64').toString('latin1');
}
