/** Parses JSON; undefined when it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Deepest nesting of a body: no documented one has more than ten levels. */
export const MAX_JSON_DEPTH = 64;
/** Most values in a body: a batch of 100 messages has a tenth. */
export const MAX_JSON_VALUES = 10_000;

/** What a scan of a JSON text found. */
export interface JsonScan {
  /** Why it is not parsed, as `must …`; null if it may be. It can still be invalid. */
  excess: string | null;
  /** How many characters were looked at: no more than needed to decide. */
  scanned: number;
}

/**
 * Bounds the nesting and the values of a JSON text before it is parsed: a megabyte of tiny values takes a hundred times
 * as long to parse, validate and free as one of text, and nothing else is served meanwhile.
 */
export function scanJson(text: string): JsonScan {
  let depth = 0;
  // Each value but the first follows one of these.
  let values = 1;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (inString) {
      if (character === BACKSLASH) at++;
      else if (character === QUOTE) inString = false;
      continue;
    }
    switch (character) {
      case QUOTE:
        inString = true;
        continue;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth++;
        values++;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth--;
        continue;
      case COMMA:
        values++;
        break;
      default:
        continue;
    }
    if (depth > MAX_JSON_DEPTH) return { excess: TOO_DEEP, scanned: at + 1 };
    if (values > MAX_JSON_VALUES) return { excess: TOO_MANY, scanned: at + 1 };
  }
  return { excess: null, scanned: text.length };
}

const TOO_DEEP = `must not be nested more than ${MAX_JSON_DEPTH} levels deep`;
const TOO_MANY = `must not have more than ${MAX_JSON_VALUES} values`;
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
