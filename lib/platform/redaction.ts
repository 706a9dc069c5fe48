import { MASK } from './mask.ts';
import { maskCutToken, maskTokens } from './token-patterns.ts';
import { maskCutUrlCredentials, maskUrlCredentials } from './url-credentials.ts';

/** Configured values shorter than this are not looked for (spec 3, Authentication). */
const SHORTEST_SECRET = 8;

/** Texts are cut to no fewer characters than these. The end of one as long may be half a secret. */
const SHORTEST_CUT = 200;

/** Takes secrets out of what leaves the process. */
export interface Redactor {
  /** Takes them out of one text. */
  text(text: string): string;
  /**
   * Takes them out of every string and key of a JSON value, which keeps its shape. A configured secret is
   * found also where it is cut into neighbouring items of a list.
   */
  value<Value>(value: Value): Value;
}

/** What every credential of a known form has in it. Most texts have none of it and are left at once. */
const sign = /gh[pousr]_|github_pat_|sk-|bearer|basic|:\/\/|=/i;

/**
 * Removes what has the form of a credential from a text that comes from outside: git host tokens, gateway
 * keys, bearer and basic values, secrets in queries and the user-info of URLs, and what is left of one at
 * the end of a text that was cut. Doing it twice changes nothing more, and it takes time in proportion to
 * the text, also to a hostile one. (spec 3, Authentication)
 */
export function redact(text: string): string {
  if (!sign.test(text)) return text;
  const masked = maskTokens(maskUrlCredentials(text));
  return text.length < SHORTEST_CUT ? masked : maskCutToken(maskCutUrlCredentials(masked));
}

/**
 * A redactor that knows configured secrets beside the forms that `redact` knows: as they are, escaped in
 * JSON once or twice, encoded in a URL, and cut to 8 characters or more by the end of a text. Values under
 * 8 characters are skipped. (spec 3, Authentication)
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const forms = [
    ...new Set(secrets.filter((it) => it.length >= SHORTEST_SECRET).flatMap(writtenForms)),
  ]
    // A part of the mask would be masked again and again.
    .filter((form) => !MASK.includes(form));
  const redactAll = (texts: readonly string[]) => maskRanges(texts, forms).map(redact);
  const redactText = (text: string) => redactAll([text])[0] ?? '';
  return {
    text: redactText,
    value<Value>(value: Value): Value {
      const groups: Groups = new Map();
      collect(value, '', groups);
      const redacted = new Map(
        [...groups].map(([path, texts]) => [path, redactAll(texts).values()] as const),
      );
      const keys = new Map<string, string>();
      const redactKey = (key: string) => {
        const known = keys.get(key) ?? redactText(key);
        keys.set(key, known);
        return known;
      };
      return rebuild(value, '', redacted, redactKey) as Value;
    },
  };
}

/** How a secret can be written where text is JSON or part of an address. */
function writtenForms(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inAscii = inJson.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const inUrl = encodeURIComponent(secret.toWellFormed());
  const inStrictUrl = inUrl.replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const inUrls = [inUrl, inStrictUrl, inUrl.replaceAll('%20', '+'), inUrl.replaceAll('%2F', '/')];
  return [
    secret,
    inJson,
    inAscii,
    inJson.replaceAll('/', '\\/'),
    JSON.stringify(inJson).slice(1, -1),
    ...inUrls,
    ...inUrls.map((form) => form.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase())),
  ];
}

/** Replaces every occurrence of the forms in texts that are read as one, also those that overlap. */
function maskRanges(texts: readonly string[], forms: readonly string[]): readonly string[] {
  const ranges = merge([...findRanges(texts.join(''), forms), ...findCut(texts, forms)]);
  if (ranges.length === 0) return texts;
  let offset = 0;
  let next = 0;
  return texts.map((text) => {
    if (text === '') return text;
    const textEnd = offset + text.length;
    let masked = '';
    let copied = offset;
    for (let range = ranges[next]; range && range.start < textEnd; range = ranges[next]) {
      masked += text.slice(copied - offset, Math.max(range.start, offset) - offset) + MASK;
      copied = Math.min(range.end, textEnd);
      if (range.end > textEnd) break;
      next += 1;
    }
    masked += text.slice(copied - offset);
    offset = textEnd;
    return masked;
  });
}

interface Range {
  start: number;
  end: number;
}

/** Where the forms occur. */
function findRanges(text: string, forms: readonly string[]): Range[] {
  const found: Range[] = [];
  for (const form of forms) {
    let last: Range | null = null;
    for (let start = text.indexOf(form); start >= 0; start = text.indexOf(form, start + 1)) {
      const end = start + form.length;
      if (last && start <= last.end) {
        last.end = end;
      } else {
        last = { start, end };
        found.push(last);
      }
    }
  }
  return found;
}

/** Where the ends of long texts hold the beginning of a form. */
function findCut(texts: readonly string[], forms: readonly string[]): Range[] {
  const found: Range[] = [];
  let offset = 0;
  for (const text of texts) {
    const end = text.endsWith('…') ? text.length - 1 : text.length;
    for (const form of text.length < SHORTEST_CUT ? [] : forms) {
      const head = form.slice(0, SHORTEST_SECRET);
      let start = text.indexOf(head, end - form.length + 1);
      while (start >= 0 && !form.startsWith(text.slice(start, end))) {
        start = text.indexOf(head, start + 1);
      }
      if (start >= 0) found.push({ start: offset + start, end: offset + end });
    }
    offset += text.length;
  }
  return found;
}

/** Ranges in order, overlapping and neighbouring ones as one. */
function merge(ranges: Range[]): Range[] {
  const merged: Range[] = [];
  for (const range of ranges.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last && range.start <= last.end) last.end = Math.max(last.end, range.end);
    else merged.push(range);
  }
  return merged;
}

/** The strings of a value, together those that stand at the same place of a list's items. */
type Groups = Map<string, string[]>;

function collect(value: unknown, path: string, groups: Groups): void {
  if (typeof value === 'string') {
    const group = groups.get(path);
    if (group) group.push(value);
    else groups.set(path, [value]);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, `${path}[]`, groups);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) collect(member, `${path}.${key}`, groups);
  }
}

/** Copies a value with the strings that come back, in the order in which `collect` gave them. */
function rebuild(
  value: unknown,
  path: string,
  redacted: ReadonlyMap<string, Iterator<string>>,
  redactKey: (key: string) => string,
): unknown {
  if (typeof value === 'string') return redacted.get(path)?.next().value;
  if (Array.isArray(value)) {
    return value.map((item) => rebuild(item, `${path}[]`, redacted, redactKey));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      redactKey(key),
      rebuild(member, `${path}.${key}`, redacted, redactKey),
    ]),
  );
}
