import { isHarmless } from './harmless-values.ts';
import { findAll, type Range } from './ranges.ts';

// Every repetition is bounded: a longer match would exhaust the stack of the regular expression engine.

/** Not after a letter or digit, unless these are part of a JSON or URL escape. */
const wordStart = String.raw`(?:(?<![A-Za-z\d])|(?<=\\(?:[bfnrt]|u[\dA-Fa-f]{4})|%[\dA-Fa-f]{2}))`;
const gap = String.raw`(?:\s|%20|\\[tnr])`;
const bearer = new RegExp(
  `${wordStart}(bearer|basic)(${gap}{1,64})([\\w.~+/=-]{8,16384}(?:%[\\dA-F]{2}[\\w.~+/=-]{0,1024}){0,64})`,
  'gi',
);
/** Words that follow `bearer` in prose. */
const bearerWords =
  /^(?:authenti\w+|authori[sz]\w+|credentials?|security|requests?|required?|headers?|transport|schemes?|methods?|challenges?)[.]?$/i;

const header = String.raw`["'\\]{0,6}\s{0,4}[:=]\s{0,4}["'\\\`]{0,6}`;
const authorization = new RegExp(
  `(?<!www-)authorization${header}(?=\\S)(?:([A-Za-z][\\w-]{0,40})${gap}{1,8})?`,
  'gi',
);
/** Schemes followed by a single value. Those of `lineScheme` take the rest of the line. */
const valueScheme =
  /^(?:bearer|token|api-?key|key|pat|apitoken|dpop|negotiate|ntlm|splunk|sharedkey|sharedkeylite|ssws|genie-?key|zoho-oauthtoken|private-token|discogs|bot|jwt|secret)$/i;
const lineScheme = /^(?:digest|hawk|oauth|aws4-hmac-sha256|signature|hmac|mac)$/i;

const cookie = new RegExp(`(?<![\\w-])(set-)?cookie2?${header}(?=[\\w!#$%&*+.^|~-]{1,256}=)`, 'gi');

/** The rest of a value that `curl --trace-ascii` shows on the next lines, behind their offsets. */
const traced = /(?:\r?\n[\da-f]{4}: [\w.~+/=-]{1,64}(?![^\r\n])){1,256}/y;
/** The parameters of a scheme such as Digest: `username="…", response="…"`. */
const parameters =
  /(?:[\w-]{1,40}=(?:\\{0,3}"[^"\\\r\n\0]{0,1024}\\{0,3}"|[^\s,"'\\\0]{1,1024})(?:,[ \t]{0,4})?){1,32}/y;

/** A name, a member or a call that ends a statement, as code assigns it. */
const statement = /^[A-Za-z_$][A-Za-z_$.]{0,100}(?:\(.{0,200})?;$/;
const word = /[^\s"'`<>,\\\0]{1,16384}/y;
const line = /[^\r\n"'`<>\\\0]{1,16384}/y;
const cookieLine = /[^\r\n"'\\\0]{1,16384}/y;
const cookieValue = /=([^\s;"'\\\0]{1,8192})/y;

/** Finds the values of Authorization headers, bearer and basic credentials anywhere, and cookies. */
export function findAuthorization(text: string): Range[] {
  const found: Range[] = [];
  for (const { 0: all, 1: scheme = '', 3: value = '', index } of findAll(text, bearer)) {
    const end = index + all.length;
    if (isCredential(scheme, value) && !isProse(value, text.slice(end, end + 40))) {
      found.push({ start: end - value.length, end }, ...match(traced, text, end));
    }
  }
  found.push(...findHeaders(text), ...findCookies(text));
  return found;
}

function findHeaders(text: string): Range[] {
  const found: Range[] = [];
  for (const { 0: all, 1: scheme = '', index } of findAll(text, authorization)) {
    const at = index + all.length;
    // Already part of the previous value.
    if (index < (found.at(-1)?.end ?? 0)) continue;
    if (/^basic$/i.test(scheme)) continue;
    if (lineScheme.test(scheme)) {
      const whole = match(parameters, text, at);
      found.push(...(whole.length > 0 ? whole : match(line, text, at)));
    } else if (valueScheme.test(scheme)) found.push(...findValue(text, at));
    else found.push(...findValue(text, scheme === '' ? at : index + all.lastIndexOf(scheme)));
  }
  return found;
}

function findCookies(text: string): Range[] {
  const found: Range[] = [];
  for (const { 0: all, 1: isSet, index } of findAll(text, cookie)) {
    const at = index + all.length;
    if (index < (found.at(-1)?.end ?? 0)) continue;
    if (isSet === undefined) found.push(...match(cookieLine, text, at));
    else found.push(...match(cookieValue, text, text.indexOf('=', at), 1));
  }
  return found;
}

/** The word at this position, unless it is prose or code. */
function findValue(text: string, at: number): Range[] {
  return match(word, text, at).filter(
    ({ start, end }) =>
      !statement.test(text.slice(start, end)) &&
      !isHarmless(text.slice(start, end), {
        isExact: false,
        isQuoted: false,
        before: '',
        next: text.slice(end, end + 80),
      }),
  );
}

/** Matches a sticky pattern at a position, without the first `skipped` characters. */
function match(pattern: RegExp, text: string, at: number, skipped = 0): Range[] {
  pattern.lastIndex = at;
  return pattern.test(text) ? [{ start: at + skipped, end: pattern.lastIndex }] : [];
}

function isCredential(scheme: string, value: string): boolean {
  if (scheme.toLowerCase() === 'basic') {
    return Buffer.from(decodePercent(value), 'base64').includes(':');
  }
  const isParameter = /^\w+=[^=]/.test(value);
  return !isParameter && !bearerWords.test(value);
}

/** `SAML 2.0 Bearer Assertion Grant Type`; a header is found by its name. */
function isProse(value: string, next: string): boolean {
  return /^[A-Za-z][a-z]+$/.test(value) && /^ [A-Za-z]/.test(next);
}

function decodePercent(text: string): string {
  return text.replace(/%([\dA-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
