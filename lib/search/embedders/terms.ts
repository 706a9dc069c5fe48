/** How often a term occurs, and how informative it is. */
export interface Term {
  count: number;
  weight: number;
  /** It consists of words that are terms themselves. */
  isCompound: boolean;
}

/** A run of characters without blanks, brackets and quotes: a word, a path, an address, `owner/name`. */
const run = /[^\s"'`()[\]{}<>,;=|]+/g;
const edges = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;
const word = /[\p{L}\p{N}]+/gu;
/** Where to split `fetchOrigin` and `HTTPError`. */
const humps = /(?<=\p{Ll}|\p{N})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const hasHumps = /\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u;
const hasDigit = /\p{N}/u;

/** Longer runs are cut. */
const MAX_TERM_LENGTH = 128;
const WEIGHT_OF_COMPOUND = 0.8;

/**
 * The terms of a text in lower case: its words, the parts of camel-case words, and compounds such as
 * `owner/repo-name` and its part `repo-name`, an error code or a path. Takes linear time.
 */
export function findTerms(text: string): Map<string, Term> {
  const terms = new Map<string, Term>();
  const add = (spelling: string, weight: number, isCompound = false) => {
    const term = spelling.toLowerCase();
    const known = terms.get(term);
    if (known) known.count++;
    else terms.set(term, { count: 1, weight, isCompound });
  };
  for (const [found] of text.normalize('NFKC').matchAll(run)) {
    const compound = found.slice(0, MAX_TERM_LENGTH).replace(edges, '');
    const words: string[] = compound.match(word) ?? [];
    for (const spelling of words) {
      add(spelling, weightOf(spelling));
      if (!hasHumps.test(spelling)) continue;
      for (const part of spelling.split(humps)) add(part, weightOf(part));
    }
    if (words.length < 2) continue;
    add(compound, WEIGHT_OF_COMPOUND, true);
    for (const part of compound.split('/')) {
      if (part === compound || part === '' || words.includes(part)) continue;
      add(part, WEIGHT_OF_COMPOUND, true);
    }
  }
  return terms;
}

/** Short words are less informative; numbers and codes distinguish similar records. */
function weightOf(spelling: string): number {
  if (hasDigit.test(spelling)) return spelling.length === 1 ? 0.5 : 1.2;
  return spelling.length === 1 ? 0.2 : spelling.length === 2 ? 0.5 : 1;
}
