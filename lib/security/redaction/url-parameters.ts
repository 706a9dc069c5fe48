import { isHarmless } from './harmless-values.ts';
import { BARRIER } from './mask.ts';
import { isSecretName } from './named-values.ts';
import { findAll, type Range } from './ranges.ts';

/** URL parameters with a secret: `?access_token=…`, `&X-Amz-Signature=…`. */
const secretParameter =
  /[?&;#](?:amp;)?[\w.%-]{0,200}?(?:token|secret|password|passwd|pwd|api[_-]?key|signature|credential|(?<=[?&;#])(?:sig|jwt|assertion|ticket))=([^\s&;#"'<>`\\]{1,16384})/gi;
/** Parameters that are a secret only if their value looks random. */
const possibleParameter =
  /[?&#](?:amp;)?(?:key|code|auth|sid|session|sessionid|hmac)=([^\s&;#"'<>`\\]{8,4096})/gi;

/** Finds secrets in URL queries and fragments. */
export function findParameters(text: string): Range[] {
  const found: Range[] = [];
  const add = ({ 0: all, index }: { 0: string; index: number }, value: string) => {
    const end = index + all.length;
    if (!value.startsWith(BARRIER)) found.push({ start: end - value.length, end });
  };
  for (const match of findAll(text, secretParameter)) {
    const [all, value = ''] = match;
    const name = all.slice(0, all.length - value.length - 1);
    if (/token$/i.test(name) && !isSecretName(name)) continue;
    // ODBC puts a value in braces, as templates do a name.
    const bare = value.replace(/^\{(.*)\}$/, '$1');
    if (!isHarmless(bare, { isExact: true, isQuoted: false, before: '', next: '' }))
      add(match, value);
  }
  for (const match of findAll(text, possibleParameter)) {
    if (isRandom(match[1] ?? '')) add(match, match[1] ?? '');
  }
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
