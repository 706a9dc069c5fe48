import { MASK } from './mask.ts';

// Repetitions are bounded: a longer match would exhaust the stack of the regular expression engine. No
// credential is as long as the bounds.

/**
 * Where a word begins: behind no letter or digit, unless these belong to an escape of JSON, of a URL or of
 * a terminal's colors (of which `cleanText` leaves `[31m`), as in the JSON text `"key:\nsk-…"`.
 */
const wordStart = String.raw`(?:(?<![A-Za-z\d])|(?<=\\(?:[bfnrt]|u[\dA-Fa-f]{4})|%[\dA-Fa-f]{2}|\[[\d;]{0,20}m))`;

/** Git host tokens: classic, OAuth, user-to-server, installation and refresh ones, and fine-grained ones. */
const gitHostToken = /gh[pousr]_\w{36,8192}(?:\.[\w-]{1,8192}){0,2}|github_pat_\w{22,8192}/g;
/** What is left of one at the end of a text that was cut. */
const cutGitHostToken = /(?:gh[pousr]|github_pat)_\w{8,36}(?=…?$)/;
/** Keys of model gateways. Words such as `task-…` and `sk-learn-…` are no keys. */
const gatewayKey = new RegExp(`${wordStart}sk-[\\w-]{8,8192}`, 'g');
const authorization = new RegExp(
  `${wordStart}(bearer|basic)((?:\\s|%20){1,64})([\\w.~+/=-]{8,16384}(?:%[\\dA-F]{2}[\\w.~+/=-]{0,1024}){0,64})`,
  'gi',
);
/** A secret in the query of an address: `?access_token=…`, `&X-Amz-Signature=…`. */
const querySecret =
  /([?&;][\w.%-]{0,200}(?:token|secret|password|passwd|pwd|api[_-]?key|signature|credential)|[?&;](?:sig|jwt))=[^\s&;#"'<>`\\]{1,16384}/gi;

/** Words that follow `bearer` in plain language. */
const bearerWords =
  /^(?:authenti\w+|authori[sz]\w+|credentials?|security|requests?|required?|headers?|transport|schemes?|methods?|challenges?)[.]?$/i;

/**
 * Replaces everything in a text that has the form of a token: those of git hosts and model gateways,
 * bearer and basic values, secrets in queries. Takes time in proportion to the text. (spec 3,
 * Authentication)
 */
export function maskTokens(text: string): string {
  return text
    .replace(gitHostToken, MASK)
    .replace(gatewayKey, (found) => (isGatewayKey(found) ? MASK : found))
    .replace(authorization, (found, scheme: string, space: string, value: string) =>
      isCredential(scheme, value) ? `${scheme}${space}${MASK}` : found,
    )
    .replace(querySecret, `$1=${MASK}`);
}

/** Replaces a git host token that the end of a text was cut in. */
export function maskCutToken(text: string): string {
  return text.replace(cutGitHostToken, MASK);
}

/** A key has a long part without a hyphen, or says whose it is, or is not made of letters alone. */
function isGatewayKey(text: string): boolean {
  return /[A-Za-z\d]{16}|^sk-(?:or|ant|proj|svcacct)-|\d/.test(text);
}

function isCredential(scheme: string, value: string): boolean {
  if (scheme.toLowerCase() === 'basic') {
    return Buffer.from(decodePercent(value), 'base64').includes(':');
  }
  const isParameter = /^\w+=[^=]/.test(value);
  return !isParameter && !bearerWords.test(value);
}

function decodePercent(text: string): string {
  return text.replace(/%([\dA-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
