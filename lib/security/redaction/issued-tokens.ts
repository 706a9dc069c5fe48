import { type Issued, issuedForms } from './issued-forms.ts';
import { findAll, type Range } from './ranges.ts';

/** Its tokens may stand behind a letter. */
const gitHubToken = /gh[pousr]_\w{36,8192}(?:\.[\w-]{1,8192}){0,2}|github_pat_\w{22,8192}/g;

/** Forms that are marked within: the mark with what follows, and what must stand before it. */
const markedWithin: readonly { mark: RegExp; before: RegExp; isBeforeSecret: boolean }[] = [
  // Telegram, Terraform, Mailchimp, MaxMind
  marked(/:AA[\w-]{32,36}/g, /(?<![A-Za-z\d])\d{8,12}$/),
  marked(/\.atlasv1\.[\w=-]{60,128}/g, /(?<![A-Za-z\d])[A-Za-z\d]{14}$/),
  marked(/-us\d{1,2}(?![A-Za-z\d])/g, /(?<![A-Za-z\d])[\da-f]{32}$/),
  marked(/_mmk(?![A-Za-z\d])/g, /(?<![A-Za-z\d])[A-Za-z\d]{6}_[A-Za-z\d]{29}$/),
  // Addresses to which anybody may post: Slack, Discord, Teams
  address(/\/(?:services|workflows|triggers)\/[\w+/-]{16,512}/g, /hooks\.slack\.com$/),
  address(/\/api\/webhooks\/\d{1,24}\/[\w-]{16,512}/g, /discord(?:app)?\.com$/),
  address(/\/webhookb2\/[\w@/-]{16,512}/g, /\.office\.com$/),
];
/** Most signs that are looked at before a mark. */
const MAX_BEFORE_MARK = 40;

function marked(mark: RegExp, before: RegExp) {
  return { mark, before, isBeforeSecret: true };
}

function address(mark: RegExp, before: RegExp) {
  return { mark, before, isBeforeSecret: false };
}

/** Keys of model gateways. Words such as `task-…` and `sk-learn-…` are no keys. */
const GATEWAY_KEY = 'sk-';

/** How many signs a form is looked up by. */
const HEAD = 3;

/** The forms by what they begin with, and a table that most words are passed over by. */
const byHead = new Map<number, Issued[]>();
const mayBegin = new Uint8Array(2 ** 16);
for (const form of issuedForms) {
  for (const prefix of form.prefixes) {
    const head = headOf(prefix, 0);
    byHead.set(head, [...(byHead.get(head) ?? []), { ...form, prefixes: [prefix] }]);
    mayBegin[spread(head)] = 1;
  }
}

/**
 * Finds tokens that say by their form whose they are. Goes through a text once, and looks closer only at
 * words that begin like a token, which is what makes a hundred forms cost no more than one. Words begin also
 * at the given places.
 */
export function findIssuedTokens(text: string, starts?: ReadonlySet<number>): Range[] {
  const found: Range[] = [];
  for (const { 0: token, index } of findAll(text, gitHubToken)) {
    found.push({ start: index, end: index + token.length });
  }
  for (const { mark, before, isBeforeSecret } of markedWithin) {
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

/** Where what looks like a token ends that begins here, and whether it is one; null when nothing does. */
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

/** A place in the table for a head. */
function spread(head: number): number {
  return Math.imul(head, 0x9e37_79b1) >>> 16;
}

/**
 * Does a word begin here? It stands behind no letter or digit, unless these belong to an escape of JSON or
 * of a URL, as in the JSON text `"key:\nsk-…"`.
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

/** A key has a long part without a hyphen, or says whose it is, or is not made of letters alone. */
function isGatewayKey(text: string): boolean {
  return /[A-Za-z\d]{16}|^sk-(?:or|ant|proj|svcacct|admin|lf)-|\d/.test(text);
}

/** What is left of a token at the end of a text that was cut. */
const cutToken =
  /(?<![A-Za-z\d])(?:(?:(?:gh[pousr]|github_pat|npm|hf|re|[sr]k_(?:live|test)|dckr_pat|whsec)_|gl(?:pat|rt|dt)-|xox[a-z]-|(?:SG|ya29|hvs)\.|AKIA|ASIA|AIza|ATBB|ATATT|ATCTT|pypi-Ag)[\w.=-]{8,300}|(?<![\w.=-])eyJ[\w.=-]{8,8192})(?=…?$)/;

/** Finds a token in which a text was cut. `text` is its end. */
export function findCutToken(text: string): Range[] {
  const cut = cutToken.exec(text);
  return cut ? [{ start: cut.index, end: cut.index + cut[0].length }] : [];
}
