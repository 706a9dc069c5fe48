import { findAll, type Range } from './ranges.ts';

const BEGIN = '-----BEGIN ';
const beginning = /-----BEGIN [A-Z\d _-]{0,80}PRIVATE KEY(?: BLOCK)?-----/y;
const end = /-----END [A-Z\d _-]{0,80}PRIVATE KEY(?: BLOCK)?-----/g;
/** A line of a key without an END marker; line breaks may be escaped. */
const bodyLine =
  /(?:\s|\\{1,2}[nrt]){0,16}(?:[A-Za-z\d+/=]{16,8192}|[A-Za-z\d+/]{1,15}(?:={1,2}|(?=…?$))|(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n\\]{1,100})/y;
/** `-----BEGIN ` in base64, as in Kubernetes secrets. */
const encoded = /LS0tLS1CRUdJTi[A-Za-z\d+/=]{20,65536}/g;
/** The private part of a PuTTY key. */
const puttyLines = /^Private-Lines: \d{1,4}\r?\n(?:[A-Za-z\d+/=]{1,80}\r?\n?){1,200}/gm;

/** Finds PEM private keys, whole or truncated, as text and in base64, but not certificates or public keys. */
export function findPrivateKeys(text: string): Range[] {
  const found: Range[] = [];
  let endAt = -1;
  for (let at = text.indexOf(BEGIN), next = at; at >= 0; at = next) {
    next = text.indexOf(BEGIN, at + BEGIN.length);
    beginning.lastIndex = at;
    if (!beginning.test(text)) continue;
    const bodyAt = beginning.lastIndex;
    // Search once for all keys before it: there may be any number of keys without an end.
    if (endAt < bodyAt) {
      end.lastIndex = bodyAt;
      endAt = end.test(text) ? end.lastIndex : Number.POSITIVE_INFINITY;
    }
    // A key without an end extends at most to the next key.
    const most = next < 0 ? text.length : next;
    found.push({ start: at, end: endAt <= most ? endAt : measureBody(text, bodyAt, most) });
  }
  for (const { 0: key, index } of findAll(text, encoded)) {
    if (Buffer.from(key.slice(0, 120), 'base64').includes('PRIVATE KEY')) {
      found.push({ start: index, end: index + key.length });
    }
  }
  for (const { 0: key, index } of findAll(text, puttyLines)) {
    found.push({ start: index, end: index + key.trimEnd().length });
  }
  return found;
}

function measureBody(text: string, start: number, most: number): number {
  let at = start;
  bodyLine.lastIndex = at;
  while (at < most && bodyLine.test(text)) at = bodyLine.lastIndex;
  return Math.min(at, most);
}
