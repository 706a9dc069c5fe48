/** One word, name or quoted phrase of a query. */
export interface QueryTerm {
  text: string;
  phrase: boolean;
  negated: boolean;
}

/** A parsed query in web search syntax. */
export interface ParsedQuery {
  /** Alternatives (`or`), each a list of terms that must all match. Empty when there are no words. */
  alternatives: QueryTerm[][];
  /** The words that are not excluded, without syntax, for embedding. */
  wanted: string;
}

/** The maximum number of terms, and of words in a phrase. Only the beginning of a pasted text is used. */
const MAX_TERMS = 48;

const word = /[\p{L}\p{N}]/u;
/** A quoted phrase or a word, with an optional dash that excludes it. */
const token = /(?<dash>-?)"(?<phrase>[^"]*)"|(?<plain>[^\s"]+)/gu;

/**
 * Parses `word "a phrase" -excluded this or that`. Never throws: anything that is not valid syntax is a
 * word, so `--depth` and a lone `-128` are searched for literally.
 */
export function parseQuery(query: string): ParsedQuery {
  // Postgres cannot store NUL, so it never matches.
  const text = query.replaceAll('\0', ' ');
  const alternatives: QueryTerm[][] = [[]];
  let count = 0;
  for (const { groups = {} } of text.matchAll(token)) {
    if (count === MAX_TERMS) break;
    if (groups.plain !== undefined && /^or$/i.test(groups.plain)) {
      alternatives.push([]);
      continue;
    }
    const term = readTerm(groups);
    const terms = alternatives.at(-1);
    // Duplicates cost time and do not change the result.
    if (term === null || terms === undefined || terms.some((other) => isSame(other, term)))
      continue;
    terms.push(term);
    count += 1;
  }
  const wantsSomething = alternatives.flat().some(({ negated }) => !negated);
  const meant = alternatives
    .map((terms) => (wantsSomething ? terms : terms.map((term) => ({ ...term, negated: false }))))
    .filter((terms) => terms.some(({ negated }) => !negated));
  return { alternatives: meant, wanted: wantedText(meant) };
}

/** The words of a query that are not excluded. */
export function wantedText(alternatives: readonly (readonly QueryTerm[])[]): string {
  return alternatives
    .flatMap((terms) => terms.filter(({ negated }) => !negated).map((term) => term.text))
    .join(' ');
}

function readTerm({ dash, phrase, plain }: Record<string, string | undefined>): QueryTerm | null {
  if (phrase !== undefined) {
    const text = phrase.trim().split(/\s+/).slice(0, MAX_TERMS).join(' ');
    return word.test(text) ? { text, phrase: true, negated: dash === '-' } : null;
  }
  if (plain === undefined || !word.test(plain)) return null;
  const negated = /^-[\p{L}\p{N}]/u.test(plain);
  return { text: negated ? plain.slice(1) : plain, phrase: false, negated };
}

function isSame(one: QueryTerm, other: QueryTerm): boolean {
  return one.text === other.text && one.phrase === other.phrase && one.negated === other.negated;
}
