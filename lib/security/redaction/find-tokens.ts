import { findAll, type Range } from './ranges.ts';
import { type TokenFormat, tokenFormats } from './token-formats.ts';

/** May also follow a letter. */
const gitHubToken = /gh[pousr]_\w{36,8192}(?:\.[\w-]{1,8192}){0,2}|github_pat_\w{22,8192}/g;

/** Formats recognized by a mark in the middle: the mark and the rest, and what must precede it. */
const markedFormats: readonly { mark: RegExp; before: RegExp; isBeforeSecret: boolean }[] = [
  // Telegram, Terraform, Mailchimp, MaxMind
  marked(/:AA[\w-]{32,36}/g, /(?<![A-Za-z\d])\d{8,12}$/),
  address(/:[\w-]{30,64}(?=\/)/g, /\/bot\d{5,16}$/),
  address(/:[\w-]{35}(?![\w-])/g, /(?<![A-Za-z\d])bot\d{8,12}$/),
  // Azure AD, Discord
  marked(/\dQ~[\w.~-]{31,34}/g, /(?<![\w.~-])[\w~.-]{3}$/),
  marked(/\.[\w-]{6}\.[\w-]{27,40}(?![\w.-])/g, /(?<![\w-])[MNO][A-Za-z\d]{22,27}$/),
  // An older token of Vault
  marked(
    /\.(?=[A-Za-z]{0,23}\d)(?=[a-z\d]{0,23}[A-Z])[A-Za-z\d]{24}(?![\w.(-])/g,
    /(?<![\w.-])[sb]$/,
  ),
  marked(/\.atlasv1\.[\w=-]{60,128}/g, /(?<![A-Za-z\d])[A-Za-z\d]{14}$/),
  marked(/-us\d{1,2}(?![A-Za-z\d])/g, /(?<![A-Za-z\d])[\da-f]{32}$/),
  marked(/_mmk(?![A-Za-z\d])/g, /(?<![A-Za-z\d])[A-Za-z\d]{6}_[A-Za-z\d]{29}$/),
  // Webhook URLs: Slack, Discord, Teams
  address(/\/(?:services|workflows|triggers)\/[\w+/-]{16,512}/g, /hooks\.slack\.com$/),
  address(/\/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, /hc-ping\.com$/),
  address(/\/api\/webhooks\/\d{1,24}\/[\w-]{16,512}/g, /discord(?:app)?\.com$/),
  address(/\/webhook(?:b2)?\/[\w@/-]{16,512}/g, /\.office\.com$/),
];
const MAX_BEFORE_MARK = 40;

function marked(mark: RegExp, before: RegExp) {
  return { mark, before, isBeforeSecret: true };
}

function address(mark: RegExp, before: RegExp) {
  return { mark, before, isBeforeSecret: false };
}

/** The prefix of gateway keys, but also of words such as `sk-learn-…`. */
const GATEWAY_KEY = 'sk-';

/** How many characters of a prefix are indexed. */
const HEAD = 3;

/** Formats by the head of their prefix, and a lookup table that rules out most positions. */
const byHead = new Map<number, TokenFormat[]>();
const mayBegin = new Uint8Array(2 ** 16);
for (const form of tokenFormats) {
  for (const prefix of form.prefixes) {
    const head = headOf(prefix, 0);
    byHead.set(head, [...(byHead.get(head) ?? []), { ...form, prefixes: [prefix] }]);
    mayBegin[spread(head)] = 1;
  }
}

/**
 * Finds tokens of known formats. Scans the text once and tests only words that start like a token, so that a
 * hundred formats cost no more than one. `starts` are additional positions at which a word may start.
 */
export function findTokens(text: string, starts?: ReadonlySet<number>): Range[] {
  const found: Range[] = [];
  for (const { 0: token, index } of findAll(text, gitHubToken)) {
    found.push({ start: index, end: index + token.length });
  }
  for (const { mark, before, isBeforeSecret } of markedFormats) {
    for (const { 0: token, index } of findAll(text, mark)) {
      const head = before.exec(text.slice(Math.max(0, index - MAX_BEFORE_MARK), index))?.[0];
      if (head === undefined) continue;
      found.push({ start: index - (isBeforeSecret ? head.length : 0), end: index + token.length });
    }
  }
  let head = headOf(text, 0) >> 8;
  for (let at = 0; at + HEAD <= text.length; at += 1) {
    head = ((head & 0xffff) << 8) | (text.charCodeAt(at + HEAD - 1) & 0xff);
    if (mayBegin[spread(head)] === 0) continue;
    if (!isWordStart(text, at) && !starts?.has(at)) continue;
    const token = measureToken(text, at, head);
    if (token === null) continue;
    const { end } = token;
    if (token.isSecret) found.push({ start: at, end });
    at = end - 1;
    head = headOf(text, end) >> 8;
  }
  return found;
}

/** The end of the token candidate that starts here, and whether it is a secret; null if there is none. */
function measureToken(
  text: string,
  at: number,
  head: number,
): { end: number; isSecret: boolean } | null {
  for (const { prefixes, rest } of byHead.get(head) ?? []) {
    const [prefix = ''] = prefixes;
    if (!text.startsWith(prefix, at)) continue;
    rest.lastIndex = at + prefix.length;
    if (!rest.test(text)) continue;
    const end = rest.lastIndex;
    return { end, isSecret: prefix !== GATEWAY_KEY || isGatewayKey(text.slice(at, end)) };
  }
  return null;
}

function headOf(text: string, at: number): number {
  const code = (place: number) => text.charCodeAt(place) & 0xff;
  return (code(at) << 16) | (code(at + 1) << 8) | code(at + 2);
}

/** The index of a head in the lookup table. */
function spread(head: number): number {
  return Math.imul(head, 0x9e37_79b1) >>> 16;
}

/**
 * Whether a word starts here: not after a letter or digit, unless these are part of a JSON or URL escape, as
 * in the JSON string `"key:\nsk-…"`.
 */
function isWordStart(text: string, at: number): boolean {
  if (at === 0 || !isAlphanumeric(text.charCodeAt(at - 1))) return true;
  const mayBeEscape =
    text.charCodeAt(at - 2) === BACKSLASH ||
    text.charCodeAt(at - 3) === PERCENT ||
    text.charCodeAt(at - 6) === BACKSLASH;
  return mayBeEscape && escapeBefore.test(text.slice(Math.max(0, at - 6), at));
}

const BACKSLASH = 92;
const PERCENT = 37;
const escapeBefore = /(?:\\(?:[bfnrt]|u[\dA-Fa-f]{4})|%[\dA-Fa-f]{2})$/;

function isAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
}

/** A key has a long part without hyphens, a known issuer or a digit. */
function isGatewayKey(text: string): boolean {
  return /[A-Za-z\d]{16}|^sk-(?:or|ant|proj|svcacct|admin|lf)-|\d/.test(text);
}

/** A truncated token at the end of a text. */
const cutToken =
  /(?<![A-Za-z\d])(?:(?:(?:gh[pousr]|github_pat|npm|hf|re|[sr]k_(?:live|test)|dckr_pat|whsec)_|gl(?:pat|rt|dt)-|xox[a-z]-|(?:SG|ya29|hvs)\.|AKIA|ASIA|AIza|ATBB|ATATT|ATCTT|pypi-Ag)[\w.=-]{8,300}|(?<![\w.=-])eyJ[\w.=-]{8,8192})(?=…?$)/;

/** Finds a token truncated by the end of `text`. */
export function findCutToken(text: string): Range[] {
  const cut = cutToken.exec(text);
  return cut ? [{ start: cut.index, end: cut.index + cut[0].length }] : [];
}
