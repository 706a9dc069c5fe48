import { BARRIER } from './mask.ts';
import { findAll, type Range } from './ranges.ts';

/** URL parameters with a secret: `?access_token=…`, `&X-Amz-Signature=…`. */
const secretParameter =
  /[?&;#](?:amp;)?[\w.%-]{0,200}?(?:token|secret|password|passwd|pwd|api[_-]?key|signature|credential|(?<=[?&;#])(?:sig|jwt|assertion|ticket))=([^\s&;#"'<>`\\]{1,16384})/gi;
/** Parameters that are a secret only if their value looks random. */
const possibleParameter =
  /[?&#](?:amp;)?(?:key|code|auth|sid|session|sessionid|hmac)=([^\s&;#"'<>`\\]{8,4096})/gi;

/** `curl -u name:password`, quoted or not; but not `git push -u https://host`. */
const userOption =
  /(?<![\w-])(?:-u|--user|--proxy-user)(?:[ \t]{1,4}|=|(?=["']))["']?([^\s:'"$]{1,200}):(?!\/\/)([^\s'"\0]{1,400})/g;
const requester = /\b(?:curl|wget|http|https|xh)\b[^\n]{0,300}$/;
const passwordOption =
  /\bsshpass\s{1,4}-p\s{0,4}["']?([^\s"'\0]{1,200})|\bmysql(?:dump|admin)?\b[^\n|;&]{0,200}?\s-p([^\s"'\0-][^\s"'\0]{2,200})/g;
/** A line of .pgpass. */
const pgpass = /^[\w.*-]{1,253}:(?:543\d|6432|\*):[^:\s]{1,63}:[^:\s]{1,63}:([^\r\n\0]{1,200})$/gm;

/** Finds secrets in URL queries and fragments, in options of known commands and in .pgpass. */
export function findParameters(text: string): Range[] {
  const found: Range[] = [];
  const add = ({ 0: all, index }: { 0: string; index: number }, value: string) => {
    const end = index + all.length;
    if (!value.startsWith(BARRIER)) found.push({ start: end - value.length, end });
  };
  for (const match of findAll(text, secretParameter)) add(match, match[1] ?? '');
  for (const match of findAll(text, possibleParameter)) {
    if (isRandom(match[1] ?? '')) add(match, match[1] ?? '');
  }
  for (const match of findAll(text, userOption)) {
    const [, , value = ''] = match;
    const before = text.slice(Math.max(0, match.index - 300), match.index);
    if (requester.test(before) && !/^\$|^\d+$/.test(value)) add(match, value);
  }
  for (const match of findAll(text, passwordOption)) {
    const value = match[1] ?? match[2] ?? '';
    if (!value.startsWith('$')) add(match, value);
  }
  for (const match of findAll(text, pgpass)) add(match, match[1] ?? '');
  return found;
}

/** A mixture of letters and digits that is not a word with a number. */
function isRandom(value: string): boolean {
  return (
    /^[\w.~%+/=-]+$/.test(value) &&
    /\d/.test(value) &&
    /[A-Za-z]/.test(value) &&
    !/^[a-z]+-?\d{1,4}$/i.test(value)
  );
}
