import { findAll, type Range } from './ranges.ts';

const BEGIN = '-----BEGIN ';
const beginning = /-----BEGIN [A-Z\d _-]{0,80}PRIVATE KEY(?: BLOCK)?-----/y;
const end = /-----END [A-Z\d _-]{0,80}PRIVATE KEY(?: BLOCK)?-----/g;
/** A line of a key, for one that has no end; line breaks may be written out. */
const bodyLine =
  /(?:\s|\\{1,2}[nrt]){0,16}(?:[A-Za-z\d+/=]{16,8192}|[A-Za-z\d+/]{1,15}(?:={1,2}|(?=…?$))|(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n\\]{1,100})/y;
/** `-----BEGIN ` in base64, as Kubernetes keeps keys and certificates. */
const encoded = /LS0tLS1CRUdJTi[A-Za-z\d+/=]{20,65536}/g;
/** A PuTTY key has its private part behind this. */
const puttyLines = /^Private-Lines: \d{1,4}\r?\n(?:[A-Za-z\d+/=]{1,80}\r?\n?){1,200}/gm;

/** Finds private keys in PEM, whole or cut, as text and in base64. Certificates and public keys are none. */
export function findPrivateKeys(text: string): Range[] {
  const found: Range[] = [];
  let endAt = -1;
  for (let at = text.indexOf(BEGIN), next = at; at >= 0; at = next) {
    next = text.indexOf(BEGIN, at + BEGIN.length);
    beginning.lastIndex = at;
    if (!beginning.test(text)) continue;
    const bodyAt = beginning.lastIndex;
    // Looked for once for all keys before it: keys without an end may come in any number.
    if (endAt < bodyAt) {
      end.lastIndex = bodyAt;
      endAt = end.test(text) ? end.lastIndex : Number.POSITIVE_INFINITY;
    }
    // One without an end goes on to the next key at most.
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
