import { isHarmless } from './harmless-values.ts';
import { BARRIER } from './mask.ts';
import { findAll, type Range } from './ranges.ts';

/** Words at the end of secret names. */
const nameEnd =
  /pass(?:word|wd|phrase|code|(?==))|pwd|(?<=[_-])pass|secret|(?<!expected |progress|next|page|continuation)token|(?:api|access|account|auth|client|consumer|deploy|encryption|master|private|secret|service|session|shared|signing|ssh|storage|subscription|webhook|application|app|admin)[ _.-]?key|key[_-]?(?:base|data)|credentials?|dockerconfigjson|PHPSESSID|JSESSIONID/gi;
/** Docker's `auth`, which is a secret only if its value decodes to `user:password`. */
const dockerAuth =
  /(?<![A-Za-z\d])_?auth["'\\]{0,6}\s{0,8}[:=]\s{0,8}["'\\]{0,6}([A-Za-z\d+/_-]{6,4096}={0,2})(?![\w+/-])/g;

/** Between a name and its value: an assignment, `value:` in a list of variables, an argument, a tag. */
const assignment =
  /(?:["'`\]\\]{0,6}|&quot;)[ \t]{0,16}(?:=>|:=|:(?![:=])|=(?![=~>])|%3[AaDd])(?:[ \t]{0,4}[|>][+-]?\r?\n[ \t]{1,80}|[ \t]{0,32})/y;
const valueBeside =
  /["'\\]{0,6},?(?:\s|\\[nrt]){1,80}["'\\]{0,6}value["'\\]{0,6}\s{0,8}[:=]\s{0,8}|["'\\]{1,6},["'\\]{1,6}value["'\\]{1,6}\s{0,8}:\s{0,8}/iy;
const argumentGap = /[ \t]{1,8}|["'\\]{1,6}[ \t]{0,8},\s{0,80}/y;
const tagEnd = />(?=[^\s<])/y;

/** The start of a name. */
const nameBefore = /[\w.$-]{0,80}$/;
/** What precedes a name whose value follows a gap: an option, netrc, a Dockerfile instruction. */
const optionBefore = /(?:^|[\s"'`=(\\[])-{1,2}[\w-]{0,60}$/;
const netrcBefore = /(?:^|\s)(?:login|machine|account)\s{1,8}\S{1,200}\s{1,80}$/i;
const instructionBefore = /(?:^|\n)\s{0,8}(?:ENV|ARG|setenv|define)\s{1,4}[\w.-]{0,60}$/i;
const MAX_LOOK_BEHIND = 300;
/** Longer harmless values are skipped. */
const LONG_VALUE = 256;
const MAX_VALUE_LENGTH = 65_536;

/** Whether a key is the name of a secret. */
export function isSecretName(name: string): boolean {
  nameEnd.lastIndex = 0;
  for (const { 0: end, index } of findAll(name, nameEnd)) {
    if (index + end.length === name.length) return true;
  }
  return false;
}

/** Finds values by the names before them: `password=…`, `"apiKey": "…"`, `--token …`, `<password>…</…>`. */
export function findNamedValues(text: string): Range[] {
  const found: Range[] = [];
  nameEnd.lastIndex = 0;
  for (let name = nameEnd.exec(text); name !== null; name = nameEnd.exec(text)) {
    const value = findValue(text, name.index, nameEnd.lastIndex);
    if (value === null) continue;
    if (!value.isHarmless) found.push(value);
    // A short harmless value may contain a secret: search it too.
    if (!value.isHarmless || value.end - value.start > LONG_VALUE) {
      nameEnd.lastIndex = Math.max(nameEnd.lastIndex, value.end);
    }
  }
  for (const { 0: all, 1: value = '', index } of findAll(text, dockerAuth)) {
    if (!Buffer.from(value, 'base64').includes(':')) continue;
    const start = index + all.length - value.length;
    found.push({ start, end: start + value.length });
  }
  return found;
}

interface Value extends Range {
  isHarmless: boolean;
}

/** The value of the name whose last word is there; null if there is none. */
function findValue(text: string, nameAt: number, nameEndAt: number): Value | null {
  const gapEnd = (pattern: RegExp) => {
    pattern.lastIndex = nameEndAt;
    return pattern.test(text) ? pattern.lastIndex : -1;
  };
  const assigned = gapEnd(assignment);
  if (assigned >= 0) {
    const gap = text.slice(nameEndAt, assigned);
    const isExact = gap === '=' || /^%3[AaDd]$/.test(gap);
    return readValue(text, assigned, isExact && isInQuery(text, nameAt) ? 'query' : isExact);
  }
  const next = text[nameEndAt] ?? '';
  if (!' \t\n\r"\'\\>'.includes(next) || next === '') return null;
  const beside = gapEnd(valueBeside);
  if (beside >= 0) return readValue(text, beside, false);
  const before = text.slice(Math.max(0, nameAt - MAX_LOOK_BEHIND), nameAt);
  if (next === '>') {
    const at = gapEnd(tagEnd);
    return at >= 0 && /<[\w.:-]{0,60}$/.test(before) ? readValue(text, at, 'tag') : null;
  }
  const at = gapEnd(argumentGap);
  if (at < 0 && !netrcBefore.test(before)) return null;
  if (optionBefore.test(before)) return text[at] === '-' ? null : readValue(text, at, 'argument');
  if (netrcBefore.test(before)) {
    const gap = /\s{1,80}/y;
    return readValue(text, gapEnd(gap), true);
  }
  if (instructionBefore.test(before)) return readValue(text, at, true);
  const isPassword = /^pass|^pwd/i.test(text.slice(nameAt, nameEndAt));
  return isPassword && text[at] === "'" ? readValue(text, at, false) : null;
}

function isInQuery(text: string, nameAt: number): boolean {
  const before = text.slice(Math.max(0, nameAt - 80), nameAt);
  return /[?&#]$|amp;$/.test(
    before.slice(0, before.length - (nameBefore.exec(before)?.[0].length ?? 0)),
  );
}

type Place = boolean | 'query' | 'tag' | 'argument';

/** The value that starts there, quoted or not. `true`: a place where there is no prose. */
function readValue(text: string, at: number, place: Place): Value | null {
  const isExact = place !== false;
  const quote = readQuote(text, at);
  if (quote !== null) {
    const start = at + quote.length;
    const end = findClosing(text, start, quote);
    if (end !== null)
      return judge(
        text,
        { start, end },
        { isExact: isExact && place !== 'argument', isQuoted: true },
      );
    // Not closed: the text was truncated, or the quotation mark is part of the value.
    return judge(
      text,
      { start, end: measureBare(text, start, place) },
      { isExact, isQuoted: false },
    );
  }
  const end = measureBare(text, at, place);
  return judge(text, { start: at, end }, { isExact, isQuoted: false });
}

function judge(
  text: string,
  range: Range,
  context: { isExact: boolean; isQuoted: boolean },
): Value | null {
  const value = text.slice(range.start, range.end);
  // An earlier redaction left the text next to a mask on purpose.
  if (value === '' || value.includes(BARRIER) || text[range.end] === BARRIER) return null;
  const next = text.slice(range.end, range.end + 40);
  return { ...range, isHarmless: isHarmless(value, { ...context, next }) };
}

/** A quotation mark with the backslashes before it, as in JSON within JSON. */
function readQuote(text: string, at: number): string | null {
  quoteMark.lastIndex = at;
  return quoteMark.exec(text)?.[0] ?? null;
}

const quoteMark = /"""|'''|\\{0,15}["'`]|&quot;/y;
/** Marks that cannot be escaped. */
const plainMarks = new Set(['"""', "'''", '&quot;']);

/**
 * The end of a quoted string: the same mark with the same number of backslashes; null if there is none on the
 * line.
 */
function findClosing(text: string, start: number, quote: string): number | null {
  const mark = quote.at(-1) ?? '';
  const most = Math.min(text.length, start + MAX_VALUE_LENGTH);
  if (plainMarks.has(quote)) {
    const end = text.indexOf(quote, start);
    return end >= 0 && end < most ? end : null;
  }
  let backslashes = 0;
  for (let at = start; at < most; at += 1) {
    const sign = text[at];
    if (sign === '\n') return null;
    if (sign === mark) {
      const closes = quote.length === 1 ? backslashes % 2 === 0 : backslashes === quote.length - 1;
      if (closes) return at - (quote.length - 1);
    }
    backslashes = sign === '\\' ? backslashes + 1 : 0;
  }
  return null;
}

/** Ends an unquoted value: white space, a closing character around it, or the next item of a list. */
const bareEnd =
  /[\s\0]|\\[nrt"']|["'`](?=[\s,;:)\]}]|$)|<(?=[/A-Za-z!])|&(?=(?:amp;)?[\w.%-]{1,64}=)|;(?=\s|$|[\w .-]{1,64}=)|,(?=\s|$|["'\w-]{1,64}\s?[=:])|&quot;/g;
const queryEnd = /[\s&;#"'<>`\\\0]/g;
const tagValueEnd = /[<\r\n\0]/g;

function measureBare(text: string, start: number, place: Place): number {
  const ending = place === 'query' ? queryEnd : place === 'tag' ? tagValueEnd : bareEnd;
  ending.lastIndex = start;
  const end = Math.min(ending.exec(text)?.index ?? text.length, start + MAX_VALUE_LENGTH);
  if (place === 'query' || place === 'tag') return end;
  // Exclude characters that close a sentence or list around the value.
  const value = text.slice(start, end);
  return /^[A-Za-z_$][\w$.]*\(|^[[{(<$]/.test(value)
    ? end
    : start + value.replace(/[,.;:)\]}"'`]{1,8}$/, '').length;
}
