import { findAll, type Range } from './ranges.ts';

/** `-----BEGIN RSA PRIVATE KEY-----`, `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----`, and the static key of OpenVPN. */
const beginning =
  /-{4,5} ?BEGIN (?:[A-Z\d _-]{0,80}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d) ?-{4,5}/g;
const end =
  /-{4,5} ?END (?:[A-Z\d _-]{0,80}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d) ?-{4,5}/g;
/** A line of a key without an END marker; line breaks may be escaped. */
const bodyLine =
  /(?:\s|\\{1,2}[nrt]){0,16}(?:["'] ?[+.,]?\s{1,40}["'])?(?:[A-Za-z\d+/=]{16,8192}|[A-Za-z\d+/]{1,15}(?:={1,2}|(?=…?$))|(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n\\]{1,100})/y;
/** The last line of a key, which is shorter. Not an ordinary word. */
const lastLine =
  /(?:\s{1,16}|\\{1,2}n)(?=[a-z]{0,15}[A-Z\d+/])(?:[A-Za-z\d+/]{4}){1,3}(?=\s|\\n|["'`]|$)/y;
/** The same of a line without the prefix that it shares with the first line. */
const wholeLine = /^(?:[A-Za-z\d+/=]{16,8192}|(?:Proc-Type|DEK-Info|Version|Comment): .{1,100}|)$/;
const wholeLastLine = /^(?=[a-z]{0,15}[A-Z\d+/=])(?:[A-Za-z\d+/]{1,15}={0,2})…?$/;
const MAX_PREFIX = 120;
const MAX_LINE = 8_400;
/** `-----BEGIN ` in base64, as in Kubernetes secrets. */
const encoded = /LS0tLS1CRUdJTi[A-Za-z\d+/=]{20,65536}/g;
/** The private part of a PuTTY key. */
const puttyLines = /^Private-Lines: \d{1,4}\r?\n(?:[A-Za-z\d+/=]{1,80}\r?\n?){1,200}/gm;

/** The private parts of a JSON Web Key. */
const jwkPart = /\\{0,3}"(?:d|p|q|dp|dq|qi|k)\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}"([\w-]{8,4096})/g;
const KTY = '"kty';
/** How far the parts of a key are from its type. */
const MAX_JWK_LENGTH = 8_192;

/** Finds PEM private keys, whole or truncated, as text and in base64, but not certificates or public keys. */
export function findPrivateKeys(text: string): Range[] {
  const found: Range[] = [];
  const begins = findAll(text, beginning);
  let endAt = -1;
  for (const [n, { 0: head, index: at }] of begins.entries()) {
    const bodyAt = at + head.length;
    // Search once for all keys before it: there may be any number of keys without an end.
    if (endAt < bodyAt) {
      end.lastIndex = bodyAt;
      endAt = end.test(text) ? end.lastIndex : Number.POSITIVE_INFINITY;
    }
    // A key without an end extends at most to the next key.
    const most = begins[n + 1]?.index ?? text.length;
    const last = endAt <= most ? endAt : measureBody(text, at, bodyAt, most);
    // A marker alone is no key.
    if (last > bodyAt) found.push({ start: at, end: last });
  }
  for (const { 0: key, index } of findAll(text, encoded)) {
    if (Buffer.from(key.slice(0, 120), 'base64').includes('PRIVATE KEY')) {
      found.push({ start: index, end: index + key.length });
    }
  }
  for (const { 0: key, index } of findAll(text, puttyLines)) {
    found.push({ start: index, end: index + key.trimEnd().length });
  }
  found.push(...findJwks(text));
  return found;
}

function findJwks(text: string): Range[] {
  const found: Range[] = [];
  let searched = 0;
  for (let at = text.indexOf(KTY); at >= 0; at = text.indexOf(KTY, at + KTY.length)) {
    // Each part of the text is searched once, however many types it names.
    const start = Math.max(searched, at - MAX_JWK_LENGTH);
    searched = Math.min(text.length, at + MAX_JWK_LENGTH);
    const around = text.slice(start, searched);
    const from = around.lastIndexOf('{', at - start) + 1;
    const to = around.indexOf('}', Math.max(0, at - start));
    const key = around.slice(from, to < 0 ? undefined : to);
    for (const { 0: all, 1: part = '', index } of findAll(key, jwkPart)) {
      const end = start + from + index + all.length;
      found.push({ start: end - part.length, end });
    }
  }
  return found;
}

/** The end of a key without an END marker. */
function measureBody(text: string, start: number, bodyAt: number, most: number): number {
  const lineStart = Math.max(text.lastIndexOf('\n', start) + 1, start - MAX_PREFIX);
  const prefix = text.slice(lineStart, start);
  const isPlain =
    prefix.trim() === '' ||
    /["'`{=]/.test(prefix) ||
    !/^[ \t]{0,80}[\r\n]/.test(text.slice(bodyAt, bodyAt + 90));
  const prefixed = isPlain ? bodyAt : prefixedBody(text, bodyAt, prefix);
  // A log may show its prefix before the first line only.
  const at = prefixed > bodyAt ? prefixed : plainBody(text, bodyAt);
  return Math.min(at, most);
}

function plainBody(text: string, start: number): number {
  const skip = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.test(text) ? pattern.lastIndex : at;
  };
  let at = start;
  for (let next = skip(bodyLine, at); next > at; next = skip(bodyLine, at)) at = next;
  return at === start ? at : skip(lastLine, at);
}

/**
 * The end of a key whose lines all have a prefix, such as `remote: `, `> ` or `+`. The prefix may differ in its digits,
 * as the times of a log do.
 */
function prefixedBody(text: string, start: number, prefix: string): number {
  let end = start;
  for (let at = text.indexOf('\n', start); at >= 0; ) {
    const next = text.indexOf('\n', at + 1);
    const line = text
      .slice(at + 1, Math.min(next < 0 ? text.length : next, at + MAX_LINE))
      .trimEnd();
    const rest = withoutPrefix(line, prefix);
    if (rest === null) break;
    const isLast = !wholeLine.test(rest);
    if (isLast && !wholeLastLine.test(rest)) break;
    end = at + 1 + line.length;
    if (isLast) break;
    at = next;
  }
  return end;
}

/** The rest of a line behind a prefix that differs at most in its numbers; null if it has another. */
function withoutPrefix(line: string, prefix: string): string | null {
  const shapeOf = (part: string) => part.replace(/\d+/g, '0').replace(/\s+/g, ' ').trim();
  const shape = shapeOf(prefix);
  if (shapeOf(line.slice(0, prefix.length)) === shape) return line.slice(prefix.length);
  const [, start, rest = ''] = /^(.{0,120}[\s|>])(\S{1,8192})$/.exec(line) ?? [];
  return start !== undefined && shapeOf(start) === shape ? rest : null;
}
