/** How often a text has a term, and how much the term says. */
export interface Term {
  count: number;
  weight: number;
  /** Does it join words that are terms themselves? */
  isCompound: boolean;
}

/** What stands between blanks, brackets and quotes: a word, a path, an address, a name with its owner. */
const run = /[^\s"'`()[\]{}<>,;=|]+/g;
const edges = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;
const word = /[\p{L}\p{N}]+/gu;
/** Where `fetchOrigin` and `HTTPError` fall apart. */
const humps = /(?<=\p{Ll}|\p{N})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const hasHumps = /\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u;
const hasDigit = /\p{N}/u;

/** Longer runs are no words of anybody's. */
const LONGEST_TERM = 128;
const WEIGHT_OF_COMPOUND = 0.8;

/**
 * The terms of a text in lower case: its words, the parts of words in camel case, and what joins words,
 * such as `owner/repo-name` and its part `repo-name`, an error code or a path. Takes time in proportion
 * to the text.
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
    const compound = found.slice(0, LONGEST_TERM).replace(edges, '');
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

/** Short words tell little; numbers and codes tell one record from its likes. */
function weightOf(spelling: string): number {
  if (hasDigit.test(spelling)) return spelling.length === 1 ? 0.5 : 1.2;
  return spelling.length === 1 ? 0.2 : spelling.length === 2 ? 0.5 : 1;
}
