import { BARRIER } from './mask.ts';
import type { Range } from './ranges.ts';

/** Schemes of databases, with any driver suffix: `postgresql+asyncpg`, `mongodb+srv`. */
const databaseScheme =
  /(?:^|[^a-z\d])(?:postgres(?:ql)?|mysql|mariadb|mssql|sqlserver|oracle|mongodb|rediss?|valkeys?|amqps?|clickhouse|cockroachdb|snowflake)(?:\+[a-z\d_.+-]*)?$/i;
/** Here a user without a password is never a token. */
const sshScheme = /(?:^|[^a-z\d])(?:git\+)?ssh$/i;
/** How much of a user is looked at. */
const MAX_USER_LENGTH = 512;
const MAX_SCHEME_LENGTH = 40;

/** Ends a URL: white space, an angle bracket, or a closing quotation mark. */
const end = /[\s<>`]|["'](?=[\s,:;)\]}]|$)|:\/\//g;
/** What may follow the host: a port, or nothing. */
const port = /^\d{0,5}$/;

/**
 * Finds the user-info of every URL in a text, except users without a password, which are not secrets unless they look
 * like a token.
 */
export function findUrlCredentials(text: string): Range[] {
  const found: Range[] = [];
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const start = at + 3;
    if (text[start] === BARRIER) continue;
    end.lastIndex = start;
    const rest = text.slice(start, end.exec(text)?.index);
    const scheme = text.slice(Math.max(0, at - MAX_SCHEME_LENGTH), at);
    const length =
      measureCredentials(rest, scheme) ||
      (databaseScheme.test(scheme) ? measureIrregular(text, start) : 0);
    if (length > 0) found.push({ start, end: start + length });
  }
  return found;
}

/** Any password up to an @ and a host, but not a port. */
const irregularPassword =
  /[^\s:@/"'<>`\0]{0,128}:(?!\d{1,5}(?:[\s/?#"'<>)\]},.;]|$))([^\r\n@\0]{1,200})@(?=[\w[])/y;

/** Length of the user-info of a database URL whose password contains white space, a quotation mark or `<` or `>`. */
function measureIrregular(text: string, start: number): number {
  irregularPassword.lastIndex = start;
  const found = irregularPassword.exec(text);
  // Text after a closing quotation mark belongs to another value.
  if (found === null || /["']\s{0,8}[,:;)\]}]|:\/\//.test(found[1] ?? '')) return 0;
  const length = found[0].length - 1;
  return placeholder.test(found[0].slice(0, length)) ? 0 : length;
}

/** Length of the user-info at the start of a URL without its scheme; 0 if there is none to mask. */
function measureCredentials(rest: string, scheme: string): number {
  if (!rest.includes('@') || rest.includes(BARRIER)) return 0;
  const isDatabase = databaseScheme.test(scheme);
  const pathAt = rest.search(/[/?#]/);
  const authority = pathAt < 0 ? rest : rest.slice(0, pathAt);
  const inAuthority = authority.lastIndexOf('@');
  const colon = authority.indexOf(':');
  if (inAuthority >= 0) {
    const hasPassword = colon >= 0 && colon < inAuthority;
    if (!hasPassword && (isDatabase || sshScheme.test(scheme))) return 0;
    const user = authority.slice(0, hasPassword ? colon : inAuthority);
    if (!hasPassword && !isToken(user)) return 0;
    const isOrdinary = hasPassword ? /["',]/.test(user) : /^$|[^\w.~%!$&*+=-]/.test(user);
    if (isOrdinary) return 0;
    if (hasPassword && placeholder.test(authority.slice(0, inAuthority))) return 0;
    // A database password may contain both an @ and a slash.
    const last = rest.lastIndexOf('@');
    const isPassword = isDatabase && !/["',?]/.test(rest.slice(inAuthority, last));
    return isPassword ? last : inAuthority;
  }
  // The @ comes after a slash: it is in a path, unless `user:` precedes it and not a port.
  const afterColon = authority.slice(colon + 1);
  if (colon < 0 || authority.startsWith('[') || /["',]/.test(authority.slice(0, colon))) return 0;
  const last = rest.lastIndexOf('@');
  if (!port.test(afterColon)) return last;
  return isDatabase && !/["',?]/.test(rest.slice(0, last)) ? last : 0;
}

/** `user:password` in a document, and a variable, a template or stars for the password. */
const placeholder =
  /^(?:\[?user(?:name)?:(?:password|passwd|pass|pw)|[^:]*:(?:\$\{[^}]*\}|\$\(\w+\)|\$[A-Z_]{2,}|\{\{?[ \w.]+\}?\}|%\w|\*{3,}|x{3,}|…|\.{3}))$/i;

/** Whether one part of a user is long and looks random. */
function isToken(user: string): boolean {
  return user
    .slice(0, MAX_USER_LENGTH)
    .split(/[.-]/)
    .some(
      (part) => part.length >= 16 && (/\d/.test(part) ? /[A-Za-z]/.test(part) : part.length >= 32),
    );
}

/** A user and a password, truncated by the end of a text. */
const cutCredentials =
  /:\/\/[^\s/?#@:"'<>`[]{0,256}:(?!\d{0,5}(?:[/?#]|[\])},.;:!]{0,8}…?$))[^\s@"'<>`…]{0,1024}(?=…?$)/;

/** Finds the user-info of a URL that is truncated before its host by the end of `text`. */
export function findCutUrlCredentials(text: string): Range[] {
  const start = text.lastIndexOf('://');
  const cut = start < 0 ? null : cutCredentials.exec(text.slice(start));
  if (!cut || cut[0].includes(BARRIER)) return [];
  return [{ start: start + cut.index + 3, end: start + cut.index + cut[0].length }];
}
