/** The most words that are highlighted. */
const MAX_WORDS = 48;
/** A quoted phrase or a word, with an optional dash that excludes it. */
const token = /(?<dash>-?)"(?<phrase>[^"]*)"|(?<plain>[^\s"]+)/gu;

/** The words and phrases that a query looks for, without those that it excludes. */
export function wordsOf(query: string): string[] {
  const words: string[] = [];
  for (const { groups = {} } of query.matchAll(token)) {
    const { dash, phrase, plain } = groups;
    const isExcluded = dash === '-' || (plain?.startsWith('-') ?? false);
    const word = (phrase ?? plain ?? '').trim();
    if (isExcluded || !/[\p{L}\p{N}]/u.test(word) || /^or$/i.test(word)) continue;
    words.push(word);
    if (words.length === MAX_WORDS) break;
  }
  return words;
}

const EXCERPT_CHARS = 600;
/** The length of the text before the first match. */
const LEAD_CHARS = 80;

/** The part of a long text around its first match, with `…` on each side where text is left out. */
export function excerptOf(content: string, words: readonly string[]): string {
  if (content.length <= EXCERPT_CHARS) return content;
  const lower = content.toLowerCase();
  const places = words.map((word) => lower.indexOf(word.toLowerCase())).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...places, content.length - EXCERPT_CHARS) - LEAD_CHARS);
  const end = start + EXCERPT_CHARS;
  const cut = content.slice(start, end).toWellFormed();
  return `${start > 0 ? '…' : ''}${cut}${end < content.length ? '…' : ''}`;
}
