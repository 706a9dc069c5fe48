import { BARRIER } from './mask.ts';
import type { Range } from './ranges.ts';

/** Addresses of databases, with any driver suffix: `postgresql+asyncpg`, `mongodb+srv`. */
const databaseScheme =
  /(?:^|[^a-z\d])(?:postgres(?:ql)?|mysql|mariadb|mssql|sqlserver|oracle|mongodb|rediss?|valkeys?|amqps?|clickhouse|cockroachdb|snowflake)(?:\+[a-z\d_.+-]*)?$/i;
/** Addresses whose user alone is no secret. */
const sshScheme = /(?:^|[^a-z\d])(?:git\+)?ssh$/i;
/** Longest scheme that is looked at. */
const MAX_SCHEME_LENGTH = 40;

/** Ends an address: white space, an angle bracket, or a quotation mark that closes something. */
const end = /[\s<>`]|["'](?=[\s,:;)\]}]|$)|:\/\//g;
/** Behind a host: a port, or nothing. */
const port = /^\d{0,5}$/;

/**
 * Finds the user-info of every URL in a text. A user without a password is none in the address of a
 * database and of ssh, where it is no secret.
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

/** A password that ends no sooner than at an @ and a host, whatever it holds. A port is none. */
const irregularPassword =
  /[^\s:@/"'<>`\0]{0,128}:(?!\d{1,5}(?:[\s/?#"'<>)\]},.;]|$))([^\r\n@\0]{1,200})@(?=[\w[])/y;

/** Length of a database's user-info whose password holds white space, a quotation mark or an angle bracket. */
function measureIrregular(text: string, start: number): number {
  irregularPassword.lastIndex = start;
  const found = irregularPassword.exec(text);
  // What is behind a closing quotation mark is of another value.
  if (found === null || /["']\s{0,8}[,:;)\]}]|:\/\//.test(found[1] ?? '')) return 0;
  return found[0].length - 1;
}

/** Length of the user-info that an address without its scheme begins with, 0 when there is none to mask. */
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
    const isOrdinary = hasPassword ? /["',]/.test(user) : /^$|[^\w.~%!$&*+=-]/.test(user);
    if (isOrdinary) return 0;
    // A database's password may hold both an @ and a slash.
    const last = rest.lastIndexOf('@');
    const isPassword = isDatabase && !/["',?]/.test(rest.slice(inAuthority, last));
    return isPassword ? last : inAuthority;
  }
  // The @ comes behind a slash: in a path, unless what stands before it is `user:` and no port.
  const behindColon = authority.slice(colon + 1);
  if (colon < 0 || authority.startsWith('[') || /["',]/.test(authority.slice(0, colon))) return 0;
  const last = rest.lastIndexOf('@');
  if (!port.test(behindColon)) return last;
  return isDatabase && !/["',?]/.test(rest.slice(0, last)) ? last : 0;
}

/** A user with a password, as far as a text goes that ends there. */
const cutCredentials =
  /:\/\/[^\s/?#@:"'<>`[]{0,256}:(?!\d{0,5}(?:[/?#]|[\])},.;:!]{0,8}…?$))[^\s@"'<>`…]{0,1024}(?=…?$)/;

/** Finds the user-info of a URL that a text was cut in, before its host. `text` is its end. */
export function findCutUrlCredentials(text: string): Range[] {
  const start = text.lastIndexOf('://');
  const cut = start < 0 ? null : cutCredentials.exec(text.slice(start));
  if (!cut || cut[0].includes(BARRIER)) return [];
  return [{ start: start + cut.index + 3, end: start + cut.index + cut[0].length }];
}
