import { isHarmless } from './harmless-values.ts';
import { BARRIER } from './mask.ts';
import { findAll, type Range } from './ranges.ts';

/** Words at the end of secret names. The longest come first: `secret_key` is one name. */
const nameEnd = new RegExp(
  [
    '(?:api|access|account|auth|client|consumer|deploy|encryption|master|private|secret|service|session|shared|signing|ssh|storage|subscription|webhook|application|app|admin|license)[ _.-]?key(?:[ _.-]?(?:data|base(?:64)?))?',
    'key[_-]?(?:base|data)|pre[_-]?shared[_-]?key|(?<![A-Za-z])psk',
    'pass(?:word|wd| ?phrase|code|(?<!ASKPASS)(?==))|(?<!OLD)pwd(?![="\']{1,3}[/~])|(?<=[_-])(?:pass|pw)(?![A-Za-z])|(?<=_)(?:auth|pat)(?==)|bindpw|rootpw',
    '(?<=user|db|database|root|admin|mail|smtp|ftp|ssh|login|ldap|auth|http|proxy|become|key|store)pass(?=["\']?\\s{0,4}[:=])',
    // `pass` and `pw` are also counts of tests and widths: only in quotation marks, before one, or alone on a line.
    '(?<![A-Za-z\\d.])(?-i:pass|pw)(?=["\'\\\\]{0,4}\\s{0,4}[:=]\\s{0,4}\\\\{0,3}["\']|\\\\{0,3}["\']\\s{0,4}[:=])',
    '(?<=(?:^|\\n)[ \\t+-]{0,16})(?-i:pass|pw)(?=[ \\t]{0,4}[:=][ \\t]{0,4}(?!\\d+(?:px)?\\b)[^\\s])',
    '(?<![A-Za-z\\d.])(?-i:pass|pw|PW)(?=:? ?(?:(?:is|was|ist|war|lautet) )?[A-Za-z]{1,40}\\d)',
    'passwort|kennwort|contraseña|mot[ _-]de[ _-]passe|senha|hasło|heslo|wachtwoord|lösenord|adgangskode|salasana|jelszó|şifre|пароль|парол(?=[ \t]?:)|密码|密碼|パスワード|비밀번호|รหัสผ่าน|mật khẩu',
    '(?:auth|logged_in|nonce)_(?:key|salt)',
    'secret|credentials?|dockerconfigjson|PHPSESSID|JSESSIONID',
    // Tokens of a parser, a model or a list in pages are no secrets.
    '(?<!(?:expected |progress|publickey|next|page|continuation|cancellation|(?<![A-Za-z])(?:sync|resume|change|pad|eos|bos|unk|sep|cls|mask|stop|start|end|special|jsonweb))[ _.-]?)token',
  ].join('|'),
  'gi',
);
/** Docker's `auth`, which is a secret only if its value decodes to `user:password`. */
const dockerAuth =
  /(?<![A-Za-z\d])_?auth["'\\]{0,6}\s{0,8}[:=]\s{0,8}["'\\]{0,6}([A-Za-z\d+/_-]{6,4096}={0,2})(?![\w+/-])/g;

/** Between a name and its value: an assignment, `value:` in a list of variables, an argument, a tag. */
const assignment =
  /(?:["'`\]\\]{0,6}|\*\*|&quot;|%22)[ \t]{0,16}(?:=>|:=|->(?=[ \t])|<-(?=[ \t]["'])|[:：](?![:=])|=(?![=~>])|%3[AaDd](?:%22)?)(?:\*\*)?[ \t]{0,32}/y;
/** The type of a variable, before its value: `: string = `, ` string = `, `[] = `, ` { get; set; } = `. */
const typed =
  /(?:\[\d{0,5}\]|[ \t]{0,4}[?!]?:[ \t]{0,4}(?:&(?:'static )?)?[A-Za-z][\w.<>[\]|? ]{0,40}|\}|[ \t]string|[ \t]As String|[ \t]\{ get;[\w; ]{0,30}\})[ \t]{0,4}=[ \t]{0,4}(?=\\{0,3}["'`])/y;
const valueBeside =
  /["'\\]{0,6},?(?:\s|\\[nrt]|(?<=\n)(?:[+>]|remote:)){1,80}["'\\]{0,6}value["'\\]{0,6}\s{0,8}[:=]\s{0,8}|["'\\]{1,6},["'\\]{1,6}value["'\\]{1,6}\s{0,8}:\s{0,8}|"\s{0,8}\{[^{}"]{0,80}\bdefault\s{0,8}=\s{0,8}|"\r?\n\r?\n|<\/(?:key|name|param-name)>\s{0,80}<(?:string|value|param-value)>/iy;
const argumentGap = /[ \t]{1,8}|["'\\]{1,6}[ \t]{0,8},\s{0,80}/y;
const tagEnd = /(?:\s[^<>\0]{0,200})?>(?=[^\s<])/y;
/** The end of a tag whose attribute is the name. */
const attributeEnd = /["'](?:\s[^<>\0]{0,200})?>(?:<value>)?(?=[^\s<])/y;
const attributeBefore = /<[^<>]{0,200}\s(?:name|key)\s{0,4}=\s{0,4}["'][\w.-]{0,60}$/i;
/** Between a name and a value in a sentence. */
const isGap =
  /(?:[ \t]{1,4}(?:for|of|on|für|von|zum|vom|bei)(?:[ \t][\p{L}\d.-]{1,40}){1,3}?)?(?:[ \t]{1,4}(?:is|was|ist|war|lautet):?|[ \t]\([^()\n]{1,40}\):|:)(?=[ \t]{1,4}\S{4})(?:[ \t]{1,4}(?=["'][^"'\n]{3,64}["'])|[ \t]{1,4}(?=["'`]?[^\s"'`]{0,64}\d)(?=["'`]?[^\s"'`]{0,64}[A-Za-z]))/uy;
/** The second argument of a call with two. */
const callGap = /["']\s{0,8},\s{0,16}(?=["'][^"'\n]{1,256}["']\s{0,8}\))/y;
/** The only argument of a call that sets the secret. */
const setterGap = /\(\s{0,8}(?=(["'`])[^"'`\n]{1,256}\1\s{0,8}\))/y;
/** The braces around the only value of a variable of C++. */
const braceGap = /(?<=\b(?:string|auto)[ \t]{1,4}\w{1,60})\{(?=["'][^"'\n]{1,256}["']\})/y;
const lastItem = /["'][^"'\n]{1,256}["']\s{0,8}[)\]]/y;
const setterBefore = /(?:set|with)\w{0,30}$/i;
/** A call around a string that is the value. */
const wrapper =
  /(?:(?:(?:String|Secret\w{0,20})::(?:from|new)|Buffer\.from|Some|SecretStr|new [A-Z]\w{0,40})\(|(?:get)?env\(\s{0,8}["']\w{1,60}["']\s{0,8},)\s{0,8}(?=\\{0,3}["'`])|string\(\d{1,5}\) (?=")|\{\s{0,8}\\{0,3}["']?(?:value|stringValue|plaintext)\\{0,3}["']?\s{0,8}[:=]\s{0,8}(?=\\{0,3}["'])/y;
/** Between a name and a value that looks random. */
const randomGap =
  /[ \t](?:\|[ \t](?=`?[^\s|`]{8,64}`?[ \t]\|)(?=`?[A-Za-z\d!#$%&*+,;:?@_-]{1,64}`?[ \t])(?=[^\s|]{0,64}\d)(?=[^\s|]{0,64}[A-Za-z])|(?:(?:→|->|=>)[ \t])?(?=["'`]?[A-Za-z\d]{16,512}["'`.,;]?(?:\s|$))(?=["'`]?[A-Za-z]{0,64}\d)(?=["'`]?\d{0,64}[A-Za-z]))/y;
/** An anchor or a type of YAML before the value, but no tag that reads the value elsewhere. */
const yamlProperty = /(?:&[\w-]{1,60}|!!?(?:str|binary)?)[ \t]{1,8}(?=\S)/y;
/** The head of a YAML block. */
const blockHead = /[|>](?:[+-]?\d?|\d[+-])[ \t]{0,8}(?:#[^\r\n]{0,200})?\r?\n/y;
/** A block whose lines were joined with escaped line ends, and its lines. */
const flatBlockHead = /[|>][+-]?\d?(?:\\{1,3}r)?\\{1,3}n[ \t]{1,40}/y;
const flatBlock =
  /[^\s\\"']{1,500}(?:(?:\\{1,3}r)?\\{1,3}n[ \t]{1,40}[^\s\\"':]{1,500}(?=\\|["'\s]|$)){0,50}/y;
/** A value alone on the next line, which is indented. */
const nextLine =
  /(?:\r?\n){1,2}[ \t]{1,40}(?=[^\s:{}[\]#<>|&*-][^\s:]{5,200}[ \t]{0,8}(?:\r?\n|$))(?=\S{0,200}[\d!@$%^&*])/y;
/** Before the value that is used if a variable is not set. */
const fallback =
  /(?:["'`)\]]{0,3}[ \t]{0,4}(?:\|\||\?\?)|["'`)\]]{1,3}[ \t]{1,4}or\b)[ \t]{0,4}(?=["'`])/y;
/** A quoted value of one word that continues on the next lines. */
const wordsOverLines = /[^\s"'\\]{1,8192}(?:\r?\n[ \t]{0,80}[^\s"'\\]{1,8192}){1,200}(?=["'])/y;

/** The start of a name. */
const nameBefore = /[\w.$-]{0,80}$/;
/** What precedes a name whose value follows a gap: an option, netrc, a Dockerfile instruction. */
const optionBefore = /(?:^|[\s"'`=(\\[])-{1,2}[\w-]{0,60}$/;
/** Words after an option that a sentence mentions: `Using --password via the CLI` */
const sentence = /(?:via|on|in|with|from|for|of|and|or|is)[ \t](?:the|an?|your|this|not|stdin)\b/y;
const netrcBefore = /(?:^|\s)(?:login|machine|account)\s{1,8}\S{1,200}\s{1,80}$/i;
const instructionBefore =
  /(?:^|\n|\d[Z\]]{0,2}[ \t]|\|[ \t])(?:remote: |[+>-])?\s{0,8}(?:ENV|ARG|setenv|setx|#define)\s{1,4}[\w.-]{0,60}$|\bconfig(?:ure)?[ \t]{1,4}(?:(?:--\w+|set)[ \t]{1,4}){0,4}[\w./:@-]{0,200}$/i;
/** A keyword of a map, or a definition, in Lisp and Clojure: `{:password "…"}`, `(setq password "…")` */
const keywordBefore =
  /(?:^|[\s{(,]):[\w.-]{0,60}$|\((?:setq|setf|def\w{0,12})[ \t]{1,4}[*\w.-]{0,60}$/;
const callBefore = /\w\(\s{0,8}["'][\w.-]{0,60}$/;
const MAX_LOOK_BEHIND = 300;
/** Longer harmless values are skipped. */
const LONG_VALUE = 256;
const MAX_VALUE_LENGTH = 65_536;

/** Whether a key is the name of a secret. */
export function isSecretName(name: string): boolean {
  nameEnd.lastIndex = 0;
  for (const { 0: end, index } of findAll(name, nameEnd)) {
    if (index + end.length === name.length) return true;
  }
  return false;
}

/** Finds values by the names before them: `password=…`, `"apiKey": "…"`, `--token …`, `<password>…</…>`. */
export function findNamedValues(text: string): Range[] {
  const found: Range[] = [];
  nameEnd.lastIndex = 0;
  for (let name = nameEnd.exec(text); name !== null; name = nameEnd.exec(text)) {
    const list = findList(text, name.index, nameEnd.lastIndex);
    if (list !== null) {
      found.push(...list.filter(({ isHarmless }) => !isHarmless));
      continue;
    }
    const value = findValue(text, name.index, nameEnd.lastIndex);
    if (value === null) continue;
    if (!value.isHarmless) found.push(value);
    // A short harmless value may contain a secret: search it too.
    if (!value.isHarmless || value.end - value.start > LONG_VALUE) {
      nameEnd.lastIndex = Math.max(nameEnd.lastIndex, value.end);
    }
  }
  for (const { 0: all, 1: value = '', index } of findAll(text, dockerAuth)) {
    if (!Buffer.from(value, 'base64').includes(':')) continue;
    const start = index + all.length - value.length;
    found.push({ start, end: start + value.length });
  }
  return found;
}

interface Value extends Range {
  isHarmless: boolean;
}

/** The values of several names: `[user, password] = ["a", "b"]`, `user, password = "a", "b"` */
const tupleStart = /[\])]?[ \t]{0,4}:?=[ \t]{0,4}\w{0,20}[[(]?[ \t]{0,4}(?=["'])/y;
const namesBefore =
  /(?:[[(][ \t]{0,4}|(?:^|\n)[ \t]{0,40}(?:(?:const|let|var|local)[ \t]{1,4})?)((?:[\w$]{1,40}[ \t]{0,4},[ \t]{0,4}){1,6})[\w$]{0,60}$/;

/** The string at the place of the name in a list of names, or null; undefined if there is no such list. */
function readTuple(text: string, nameAt: number, nameEndAt: number): Value | null | undefined {
  let at = skip(tupleStart, text, nameEndAt);
  if (at === nameEndAt) return undefined;
  const before = text.slice(Math.max(0, nameAt - MAX_LOOK_BEHIND), nameAt);
  const [names = '', others = ''] = namesBefore.exec(before) ?? [];
  const isBracketed = names.startsWith('[') || names.startsWith('(');
  if (names === '' || isBracketed !== /[\])]/.test(text[nameEndAt] ?? '')) return undefined;
  for (let left = others.split(',').length - 1; left >= 0; left -= 1) {
    listItem.lastIndex = at;
    const item = listItem.exec(text);
    // A string that was masked before has no value.
    if (item === null) return /["']/.test(text[at] ?? '') ? null : undefined;
    const { 0: all, 2: content = '' } = item;
    if (left > 0) at = all.includes(',', content.length + 2) ? listItem.lastIndex : text.length;
    else return judge(text, nameAt, { start: at + 1, end: at + 1 + content.length }, quoted);
  }
  return undefined;
}

const quoted = { isExact: false, isQuoted: true };

/** The head of a document within a program, with the word that ends it. */
const documentHead = /<<[~-]?["']?([A-Za-z_]\w{0,30})["']?[;,)]{0,2}\r?\n/y;

const MAX_DOCUMENT_LENGTH = 4_096;

/** The lines of the document within a program that starts there; null if there is none. */
function readDocument(text: string, nameAt: number, at: number): Value | null {
  documentHead.lastIndex = at;
  const word = documentHead.exec(text)?.[1];
  if (word === undefined) return null;
  const start = documentHead.lastIndex;
  const lines = text.slice(start, start + MAX_DOCUMENT_LENGTH);
  const end = lines.search(new RegExp(`^[ \\t]*${word}\\b`, 'm'));
  const content = (end < 0 ? lines : lines.slice(0, end)).trimEnd();
  return judge(text, nameAt, { start, end: start + content.length }, quoted);
}

/** The start of a list of strings: `passwords = ["a", "b"]`, and a list of YAML. */
const listStart = /s?["']?\s{0,4}(?:=>|:=|[:=])\s{0,8}(?:\[|\w{0,20}\{|\()\s{0,80}(?=["'])/y;
const listItem = /(["'])((?:(?!\1)[^\\\r\n\0]|\\.){0,1024})\1(?:\s{0,80},\s{0,80})?/y;
const yamlListStart = /s?["']?:[ \t]{0,8}\r?\n(?=(?:remote: |[+>])?[ \t]{0,80}- )/y;
const yamlListItem =
  /(?:remote: |[+>])?[ \t]{0,80}- (["']?)([^\s"':{}[\]#\0][^\s"'\0]{0,1023})\1[ \t]{0,8}(?:\r?\n|$)/y;
const MAX_ITEMS = 1_000;

/** The strings of the list that starts behind a name; null if there is none. */
function findList(text: string, nameAt: number, at: number): Value[] | null {
  const list = skip(listStart, text, at);
  const first = list > at ? list : skip(yamlListStart, text, at);
  if (first === at) return null;
  const item = list > at ? listItem : yamlListItem;
  const isToken = /^token/i.test(text.slice(nameAt, nameAt + 5));
  const values: Value[] = [];
  let next = first;
  for (let count = 0; count < MAX_ITEMS; count += 1) {
    item.lastIndex = next;
    const [all, quote = '', content = ''] = item.exec(text) ?? [];
    if (all === undefined) break;
    // A key of an object.
    if (list > at && text[item.lastIndex] === ':') return null;
    const start = next + all.indexOf(quote + content) + quote.length;
    const range = { start, end: start + content.length };
    const value = judge(text, nameAt, range, {
      isExact: false,
      isQuoted: list > at || quote !== '',
    });
    // The rules of a validator: `['required', 'confirmed']`
    if (value?.isHarmless && values.length === 0) return [];
    // The words of a language
    const isWord = isToken && !/\d/.test(content);
    if (value !== null && !isWord) values.push(value);
    next = item.lastIndex;
  }
  return values;
}

/** The value of the name whose last word is there; null if there is none. */
function findValue(text: string, nameAt: number, nameEndAt: number): Value | null {
  const gapEnd = (pattern: RegExp) => {
    pattern.lastIndex = nameEndAt;
    return pattern.test(text) ? pattern.lastIndex : -1;
  };
  const read = (at: number, place: Place) => readValue(text, nameAt, at, place);
  const several = readTuple(text, nameAt, nameEndAt);
  if (several !== undefined) return several;
  const declared = gapEnd(typed);
  if (declared >= 0) return read(declared, false);
  const assigned = gapEnd(assignment);
  if (assigned >= 0) {
    const gap = text.slice(nameEndAt, assigned);
    const isExact = gap === '=' || /^(?:%22)?%3[AaDd](?:%22)?$/.test(gap);
    if (isNoName(text, nameAt, assigned, gap)) return null;
    if (isExact) return read(assigned, isInQuery(text, nameAt) ? 'query' : true);
    const beneath = skip(nextLine, text, assigned);
    if (beneath > assigned && gap.includes(':')) return read(beneath, false);
    return (
      readBlock(text, nameAt, assigned) ??
      readDocument(text, nameAt, assigned) ??
      readFlatBlock(text, nameAt, assigned) ??
      readPassphrase(text, nameAt, assigned) ??
      read(skip(wrapper, text, skip(yamlProperty, text, assigned)), false)
    );
  }
  const otherwise = gapEnd(fallback);
  if (otherwise >= 0) return read(otherwise, false);
  const initial = gapEnd(braceGap);
  if (initial >= 0) return read(initial, true);
  const next = text[nameEndAt] ?? '';
  if (next === '(') {
    const argument = gapEnd(setterGap);
    const around = text.slice(Math.max(0, nameAt - 40), nameAt);
    const isSetter =
      setterBefore.test(around) || (/\.\w{0,30}$/.test(around) && isPassword(text, nameAt));
    return argument >= 0 && isSetter ? read(argument, true) : null;
  }
  if (!' \t\n\r"\'\\><,'.includes(next) || next === '') return null;
  const beside = gapEnd(valueBeside);
  if (beside >= 0) return read(beside, text[beside - 1] === '>' ? 'tag' : false);
  const before = text.slice(Math.max(0, nameAt - MAX_LOOK_BEHIND), nameAt);
  if (/(?<!\w)<[\w.:-]{0,60}$/.test(before)) {
    const at = gapEnd(tagEnd);
    return at >= 0 ? read(at, 'tag') : null;
  }
  const attribute = gapEnd(attributeEnd);
  if (attribute >= 0 && attributeBefore.test(before)) return read(attribute, 'tag');
  const second = gapEnd(callGap);
  if (second >= 0 && callBefore.test(before)) return read(second, true);
  const told = gapEnd(isGap);
  if (told >= 0) return read(told, true);
  const random = gapEnd(randomGap);
  const isCell = text.startsWith(' |', nameEndAt);
  if (random >= 0 && (!isCell || /(?:^|\n)[ \t]{0,8}\|[^\n]*$/.test(before)))
    return read(random, true);
  const at = gapEnd(argumentGap);
  if (at < 0 && !netrcBefore.test(before)) return null;
  // A hyphen at the start of a line is the mark of a list or of a removed line.
  if (/\n-\w*$/.test(before)) return null;
  // `add_argument("--token", help="…")`
  const isDeclared =
    text.slice(nameEndAt, at).includes(',') && /^[a-z_]{1,40}=/.test(text.slice(at, at + 42));
  if (isDeclared) return null;
  if (optionBefore.test(before))
    return text[at] === '-' || skip(sentence, text, at) > at ? null : read(at, true);
  if (netrcBefore.test(before)) return read(gapEnd(/\s{1,80}/y), true);
  if (instructionBefore.test(before)) return read(at, true);
  if (keywordBefore.test(before) && text[at] === '"') return read(at, true);
  if (text.slice(nameEndAt, at).includes(',')) {
    // `('smtp_password', 'value')`, but neither `'user', 'password', 'host'` nor `hash('password', salt)`
    const isPair = /[[(]\s{0,8}["']$/.test(before) && skip(lastItem, text, at) > at;
    if (!isPair && !/["'][\w.-]{1,60}[_.-]$/.test(before)) return null;
  }
  const isGiven = text[at] === "'" || (text[at] === '"' && /\b(?:set|with)\s{1,4}$/i.test(before));
  return isGiven && isPassword(text, nameAt) ? read(at, false) : null;
}

function isPassword(text: string, nameAt: number): boolean {
  return /^(?:pass|pwd)/i.test(text.slice(nameAt, nameAt + 4));
}

/** Whether the name is part of a string that ends before the value, `'token=' + x`, of a choice or of an ARN. */
function isNoName(text: string, nameAt: number, at: number, gap: string): boolean {
  const around = text.slice(Math.max(0, nameAt - 100), nameAt);
  if (gap === ':' && /\barn:aws[\w-]{0,10}:[^\s"']{0,80}:$/.test(around)) return true;
  // `given ? 'change the password' : other`
  if (/^["'`)\]]?\s+:\s/.test(gap)) return /[\w)\]] \? [^\n]*$/.test(around);
  const quote = text[at] ?? '';
  if ((gap !== '=' && gap !== ':') || (quote !== '"' && quote !== "'")) return false;
  const name = nameBefore.exec(around)?.[0] ?? '';
  return around.at(-1 - name.length) === quote && /^[ \t]?[,+)]/.test(text.slice(at + 1, at + 3));
}

/** The position after a sticky pattern, or the given one if it does not match. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** All lines of the YAML block that starts there; null if there is none. */
function readBlock(text: string, nameAt: number, at: number): Value | null {
  const start = skip(blockHead, text, at);
  if (start === at) return null;
  const nameLine = text.lastIndexOf('\n', nameAt) + 1;
  // The whole block may be quoted, as by a hook or a mail.
  const prefix = /(?:remote: |> |# |\/\/ |\+)?/y;
  const prefixLength = skip(prefix, text, nameLine) - nameLine;
  const indentation = indentationOf(text, nameLine + prefixLength);
  const most = Math.min(text.length, start + MAX_VALUE_LENGTH);
  let first = -1;
  let end = start;
  for (let line = start; line < most; ) {
    const newline = text.indexOf('\n', line);
    const next = newline < 0 || newline >= most ? most : newline + 1;
    const content = text.slice(Math.min(line + prefixLength, next), next).trimEnd();
    if (content !== '') {
      const indented = indentationOf(text, line + prefixLength);
      if (indented <= indentation) break;
      if (first < 0) first = line + prefixLength + indented;
      end = line + prefixLength + content.length;
    }
    line = next;
  }
  if (first < 0) return null;
  return judge(text, nameAt, { start: first, end }, quoted);
}

function readFlatBlock(text: string, nameAt: number, at: number): Value | null {
  const start = skip(flatBlockHead, text, at);
  if (start === at) return null;
  const end = skip(flatBlock, text, start);
  return judge(text, nameAt, { start, end }, quoted);
}

/** How far a line is indented, with the marks of a list. */
function indentationOf(text: string, at: number): number {
  return skip(/(?:[ \t]|-(?=[ \t])){0,200}/y, text, at) - at;
}

/** A passphrase of bare words up to the end of its line; null if there is none. */
function readPassphrase(text: string, nameAt: number, at: number): Value | null {
  if (!/^passphrase/i.test(text.slice(nameAt, nameAt + 10))) return null;
  const end = skip(
    /[\p{L}\d'-]{1,40}(?:[ \t][\p{L}\d'-]{1,40}){2,20}(?=[ \t]{0,8}(?:\r?\n|$))/uy,
    text,
    at,
  );
  return end > at ? judge(text, nameAt, { start: at, end }, quoted) : null;
}

function isInQuery(text: string, nameAt: number): boolean {
  const before = text.slice(Math.max(0, nameAt - 80), nameAt);
  return /[?&#]$|amp;$/.test(
    before.slice(0, before.length - (nameBefore.exec(before)?.[0].length ?? 0)),
  );
}

type Place = boolean | 'query' | 'tag';

/** The value that starts there, quoted or not. `true`: a place where there is no prose. */
function readValue(text: string, nameAt: number, at: number, place: Place): Value | null {
  const isExact = place !== false;
  // A placeholder, `Bearer <TOKEN>`, and no tag
  if (place === 'tag' && /^["'`.,;:)][^<]*$/.test(text.slice(at, measureBare(text, at, place) + 1)))
    return null;
  const quote = readQuote(text, at);
  if (quote === null) {
    const end = measureBare(text, at, place);
    return judge(text, nameAt, { start: at, end }, { isExact, isQuoted: false });
  }
  const start = at + quote.length;
  const end = findClosing(text, start, quote);
  if (end !== null) return judge(text, nameAt, { start, end }, { isExact, isQuoted: true });
  // Not closed on its line: it continues, the text was truncated, or the quotation mark is part of the value.
  const last = Math.max(skip(wordsOverLines, text, start), measureBare(text, start, place));
  return judge(text, nameAt, { start, end: last }, { isExact, isQuoted: false });
}

function judge(
  text: string,
  nameAt: number,
  range: Range,
  kind: { isExact: boolean; isQuoted: boolean },
): Value | null {
  const value = text.slice(range.start, range.end);
  // An earlier redaction left the text next to a mask on purpose.
  if (value === '' || value.includes(BARRIER) || text[range.end] === BARRIER) return null;
  const next = text.slice(range.end, range.end + 80);
  const around = text.slice(Math.max(0, nameAt - 80), nameAt);
  const before = around.slice(around.lastIndexOf('\n') + 1);
  return { ...range, isHarmless: isHarmless(value, { ...kind, before, next }) };
}

/** A quotation mark with the backslashes before it, as in JSON within JSON. */
function readQuote(text: string, at: number): string | null {
  quoteMark.lastIndex = at;
  return quoteMark.exec(text)?.[0] ?? null;
}

const quoteMark = /"""|'''|\\{0,15}["'`]|&quot;/y;
/** Marks that cannot be escaped. */
const plainMarks = new Set(['"""', "'''", '&quot;']);

/**
 * The end of a quoted string: the same mark with the same number of backslashes; null if there is none on the
 * line.
 */
function findClosing(text: string, start: number, quote: string): number | null {
  const mark = quote.at(-1) ?? '';
  const most = Math.min(text.length, start + MAX_VALUE_LENGTH);
  if (plainMarks.has(quote)) {
    const end = text.indexOf(quote, start);
    return end >= 0 && end < most ? end : null;
  }
  let backslashes = 0;
  for (let at = start; at < most; at += 1) {
    const sign = text[at];
    if (sign === '\n') return null;
    if (sign === mark) {
      const closes = quote.length === 1 ? backslashes % 2 === 0 : backslashes === quote.length - 1;
      if (closes) return at - (quote.length - 1);
    }
    backslashes = sign === '\\' ? backslashes + 1 : 0;
  }
  return null;
}

/** Ends an unquoted value: white space, a closing character around it, or the next item of a list. */
const bareEnd =
  /[\s\0]|\\[nrt"']|["'`](?=[\s,;:)\]}]|$)|<(?=[/A-Za-z!])|&(?=(?:amp;)?[\w.%-]{1,64}=)|;(?=\s|$|[\w .-]{1,64}=)|,(?=\s|$|["'\w./-]{1,64}\s?[=:])|&quot;/g;
const queryEnd = /[\s&;#"'<>`\\\0]/g;
const tagValueEnd = /[<\r\n\0]/g;

function measureBare(text: string, start: number, place: Place): number {
  const ending = place === 'query' ? queryEnd : place === 'tag' ? tagValueEnd : bareEnd;
  ending.lastIndex = start;
  const end = Math.min(ending.exec(text)?.index ?? text.length, start + MAX_VALUE_LENGTH);
  if (place === 'query' || place === 'tag') return end;
  // Exclude characters that close a sentence or list around the value.
  const value = text.slice(start, end);
  return /^[A-Za-z_$](?:[\w$.]|::|->)*\(|^[[{(<$]/.test(value)
    ? end
    : start + value.replace(/[,.;:)\]}"'`]{1,8}$/, '').length;
}
