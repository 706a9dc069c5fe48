/** One word, name or quoted phrase of a query. */
export interface QueryTerm {
  text: string;
  phrase: boolean;
  negated: boolean;
}

/** What somebody typed, in the syntax of web search engines. */
export interface ParsedQuery {
  /** Alternatives (`or`), each a list of terms that must all be met. Empty when there is no word. */
  alternatives: QueryTerm[][];
  /** The words that are wanted, without syntax: what is embedded. */
  wanted: string;
}

/** More terms than anybody types, or words of a phrase; a text that was pasted is searched by its beginning. */
const MOST_TERMS = 48;

const word = /[\p{L}\p{N}]/u;
/** A quoted phrase or a run of other characters, with the dash that excludes it. */
const token = /(?<dash>-?)"(?<phrase>[^"]*)"|(?<plain>[^\s"]+)/gu;

/**
 * Reads `word "a phrase" -excluded this or that`. Never throws: what is no syntax is a word, so that
 * `--depth` and a lone `-128` are looked for as they are. (decisions 5, /search)
 */
export function parseQuery(query: string): ParsedQuery {
  // Postgres stores no NUL, so nothing holds one.
  const text = query.replaceAll('\0', ' ');
  const alternatives: QueryTerm[][] = [[]];
  let count = 0;
  for (const { groups = {} } of text.matchAll(token)) {
    if (count === MOST_TERMS) break;
    if (groups.plain !== undefined && /^or$/i.test(groups.plain)) {
      alternatives.push([]);
      continue;
    }
    const term = readTerm(groups);
    const terms = alternatives.at(-1);
    // Said twice it costs twice and finds the same.
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
    const text = phrase.trim().split(/\s+/).slice(0, MOST_TERMS).join(' ');
    return word.test(text) ? { text, phrase: true, negated: dash === '-' } : null;
  }
  if (plain === undefined || !word.test(plain)) return null;
  const negated = /^-[\p{L}\p{N}]/u.test(plain);
  return { text: negated ? plain.slice(1) : plain, phrase: false, negated };
}

function isSame(one: QueryTerm, other: QueryTerm): boolean {
  return one.text === other.text && one.phrase === other.phrase && one.negated === other.negated;
}
