import { MASK } from './mask.ts';

/** Addresses of databases, with any driver suffix: `postgresql+asyncpg`, `mongodb+srv`. */
const databaseScheme =
  /(?:^|[^a-z\d])(?:postgres(?:ql)?|mysql|mariadb|mssql|sqlserver|oracle|mongodb|rediss?|valkeys?|amqps?|clickhouse|cockroachdb|snowflake)(?:\+[a-z\d_.+-]*)?$/i;
/** Addresses whose user alone is no secret. */
const sshScheme = /(?:^|[^a-z\d])(?:git\+)?ssh$/i;
/** Longest scheme that is looked at. */
const SCHEME_LENGTH = 40;

/** Ends an address: white space, an angle bracket, or a quotation mark that closes something. */
const end = /[\s<>`]|["'](?=[\s,:;)\]}]|$)|:\/\//g;
/** Behind a host: a port, or nothing. */
const port = /^\d{0,5}$/;

/**
 * Replaces the user-info of every URL in a text. A user without a password stays in the address of a
 * database and of ssh, where it is no secret. Takes time in proportion to the text.
 */
export function maskUrlCredentials(text: string): string {
  let masked = '';
  let copied = 0;
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const start = at + 3;
    end.lastIndex = start;
    const rest = text.slice(start, end.exec(text)?.index);
    const length = measureCredentials(rest, text.slice(Math.max(0, at - SCHEME_LENGTH), at));
    if (length === 0) continue;
    masked += text.slice(copied, start) + MASK;
    copied = start + length;
  }
  return copied === 0 ? text : masked + text.slice(copied);
}

/** Length of the user-info that an address without its scheme begins with, 0 when there is none to mask. */
function measureCredentials(rest: string, scheme: string): number {
  if (!rest.includes('@')) return 0;
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

/** Replaces the user-info of a URL that the end of a text was cut in, before its host. */
export function maskCutUrlCredentials(text: string): string {
  const start = text.lastIndexOf('://');
  if (start < 0) return text;
  return text.slice(0, start) + text.slice(start).replace(cutCredentials, `://${MASK}`);
}
