/** The context of a value whose name says that it is a secret. */
export interface ValueContext {
  /** It follows its name without a gap, as in a shell, URL or XML, so it is not prose. */
  isExact: boolean;
  isQuoted: boolean;
  /** The text before its name, on the same line. */
  before: string;
  /** The text that follows it. */
  next: string;
}

const secretWord =
  'pass(?:word|wd|phrase|code)?|pwd|authorization|secret|token|key|credentials?|auth|cookie';

/** References to a value: a variable, template, placeholder, path or URL. */
const references = [
  // $NAME, ${NAME}, $(command), $1, $config['x'], $this->x
  /^\${1,2}(?:[{(]|[A-Z_]+\d?$|[a-z_]+$|\d+$|\w+(?:\[|->|\.))/,
  // {{ name }}, {name}, <name>, [name], %NAME%, %(name)s, %s
  /^\{\{|^\{[\w.$ -]*\}$|^<[^<>]*>$|^\[[^\]]*\]$|^%(?:\(\w+\)|\w+%$|[a-z]$)/,
  // :name and @name of SQL, *alias of YAML, !tag and &anchor before a value
  /^[:@!&*][A-Za-z_]+$/,
  // YOUR_TOKEN, your-token-here, INSERT_KEY, change-me, my-secret, xxxx, re_…
  /^your\b|^your[_-]|(?:[_-]|\b)(?:here|placeholder|goes-here)$|^x+$|^placeholder\b|^[\w-]{0,8}(?:…|\.{3})$|^\w{1,10}_$/i,
  new RegExp(
    `^(?:insert|replace|enter|put|change|add|paste)[_-](?:me|it|this|with|your|the|a|in|${secretWord})\\b`,
    'i',
  ),
  new RegExp(
    `^(?:insert|replace|enter|put|change|add|paste|my|some|the)[_-](?:\\w+[_-])*(?:${secretWord})$`,
    'i',
  ),
  // Paths and URLs; passwords in URLs are found by another rule
  /^(?:~|\.{1,2}|[A-Za-z]:)[\\/]|^(?:\/[\w.@-]{1,24}){2,}\/?$|^[a-z][a-z\d+.-]{1,20}:\/\//i,
  // env:NAME, arn:aws:…, file:x
  /^(?:arn|env|file|keychain|keyring|secretref|sops|ssm|vault):\S/i,
  // A file, a command, a version, the rest of an expression of sed
  /^(?:[\w.@-]{1,40}\/){1,12}[\w.-]{1,60}\.[a-z]{1,5}$/i,
  /^(?:openssl|cat|pwgen|uuidgen|head|gpg|pass|op|vault|aws|gcloud|kubectl|gh|echo|sed|grep|base64|security) [\w-]/,
  /^[\^~]?\d{1,4}\.\d{1,4}\.\d{1,4}$|^\/\/[a-z]{0,2}$|^(?:\.|\\[a-zA-Z]|\[[^\]\s]{1,40}\])[*+]/,
  // A request, a header with a reference
  /^(?:GET|POST|PUT|PATCH|DELETE|HEAD) \/|^(?:basic|bearer|token) [$<{%]/i,
  // A key of the keyboard, a cipher
  /^(?:ctrl|alt|shift|cmd|meta)\+|^(?:aes|rsa|hmac|sha|hs|rs|es)-?\d{3,4}(?:-\w{1,8})?$/i,
  // A filter of Maven, a vault of Azure
  /^@[\w.]+@$|^@Microsoft\.KeyVault\(/,
  // Public keys of ssh
  /^(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-/,
];

/** A name as code has them: `bin2hex`, `value1`. */
const name = '[A-Za-z_$][A-Za-z_$]{0,60}(?:(?:2|8|16|32|64|128|256|512)[A-Za-z_$]{1,40})?\\d{0,2}';
const path = `${name}(?:(?:\\?\\.|\\.|::|->)${name}){0,8}`;

/** What follows a call or an element. */
const codeAfter = '(?:$|[.[(?!;,)}])';

/** Calls, elements, members and operators in code. */
const code = [
  // A call with no arguments, or with those of code; an element
  new RegExp(`^${path}[!?]?\\((?:\\)|["'\`\\w$&*{[(].*\\))${codeAfter}`),
  new RegExp(`^${path}\\[(?:["'\`:$&\\w].*|-?\\d+)\\]${codeAfter}`),
  // A member of something that code, and nothing else, calls so
  /^(?:args?|argv|body|cfg|client|conf|config|context|credentials|ctx|data|env|environ|event|form|github|globals?|input|inputs|json|local|matrix|module|needs|opts?|options|os|params?|payload|process|props|record|req|request|res|resp|response|result|row|schema|secrets|self|server|session|settings|state|steps|store|sys|this|user|values?|vars?|z|joi|t|proptypes|models|types?|fields?|column|db|sa)(?:\?\.|\.|::|->)[A-Za-z_$]/i,
  new RegExp(
    `^[A-Za-z_$][\\w$]*(?:(?:\\?\\.|\\.|::|->)[A-Za-z_$][\\w$]*)*(?:\\?\\.|\\.|::|->)\\w*(?:${secretWord})[!?]?$`,
    'i',
  ),
  new RegExp(`^\\w{0,60}(?:${secretWord})s?[!?]?(?:\\?\\.|\\.|::|->)[A-Za-z_$]`, 'i'),
  // A member of a class
  /^[A-Z][a-z]+(?:[A-Z][a-z]+)+(?:\.|::)[a-z_]\w*$/,
  // A constant before the next statement, in code without white space
  /^(?:null|undefined|void 0|true|false|this\.[\w.]+|!?[01])[;,)=&|]/,
  // A type with parameters, an operator, the head of a block, the message of ${NAME:?message}
  /^[A-Z]\w*<|^(?:&&|\|\||!==?|>=|[&*+!>|-]$|&(?:mut|str|'\w+)\b)|^[|>][+-]?\d?$|^[\\?]/,
];

/** A call or an element that goes on behind white space. */
const openCallAtEnd = new RegExp(`^${path}\\($`);
const openCall = new RegExp(
  `^${path}[!?]?(?:\\(["'\`{[(]?|\\[["'\`]?)[\\w$.:,=&*'"/~@%{}(-]{0,80}$`,
);
const closing = /^[^\n]{0,80}[)}\]>]/;

/** What names of secrets say about them. */
const qualifier =
  'access|account|acl|admin|api|app|application|auth|aws|azure|backup|bearer|bot|cache|ci|client|confirm|confirmed|confirmation|cookie|cron|csrf|current|database|db|default|deploy|device|docker|encoded|encrypted|encryption|expected|forgot|ftp|gateway|git|github|gitlab|hashed|http|id|input|internal|invalid|jwt|key|ldap|login|mail|master|mcp|my|mysql|new|npm|oauth|old|page|pass|password|pg|plain|postgres|private|proxy|public|raw|redis|refresh|registry|repeat|repository|request|reset|root|s3|secret|server|service|session|shared|signing|smtp|ssh|ssl|storage|store|stored|system|temp|tls|token|upload|user|valid|verify|webhook|worker|wrong|x|xsrf';
/** Names of secrets: `dbPassword`, `user_token`, `password`. A name with other words may be a password: `mySommerKey`. */
const identifiers = [
  new RegExp(`^(?:(?:${qualifier})[_-])*(?:${secretWord}|pw)s?$`, 'i'),
  // The name of a variable of the environment
  /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*_(?:PASS(?:WORD|WD|PHRASE)?|PWD|SECRET|TOKEN|KEY|CREDENTIALS?|AUTH)S?$/,
  new RegExp(
    `^(?:${qualifier})(?:${capitalized(qualifier)})*(?:Password|Passphrase|Secret|Token|Key|Credential|Cookie)s?$`,
  ),
];

function capitalized(words: string): string {
  return words.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
/** A variable with the name of a secret, in code. */
const secretVariable =
  /^[a-z][A-Za-z]*(?:Pass(?:word|wd|phrase|code)?|Pwd|Secret|Token|Key|Credential|Auth|Cookie)s?$|^[a-z]+(?:_[a-z]+)*_(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|credential|auth)s?$/;

/** Only the start of longer values is checked. */
const LONG_VALUE = 200;
/** A call, an element or the start of a list, in code without white space. */
const longCode = /^[A-Za-z_$][\w$.]{0,100}[([]|^[({[]/;

function wordList(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Words of schemas, states and prose, in lower case. */
const words = wordList(`
  null nil none undefined true false yes no on off n/a na nan empty unset set unknown default required optional
  missing invalid valid expired expires wrong incorrect hidden masked redacted removed omitted disabled enabled changed
  revoked refused denied rejected accepted string string_value todo fixme tbd str text char varchar number secretstr bigint int integer bool boolean byte bytes
  buffer object any void never self this input output await new async typeof function return import from if is
  to for and or in with the a an as not of must may can cannot will was has have when use used uses option options
  flag argument parameter prompt stdin file env environment vault keychain value example
  ok found present stored configured failed failure error mismatch include same-origin omit identifier
  plain basic bearer digest ntlm cram-md5
  read write files minimum maximum min max obligatoire requis obligatorio requerido 必填 必須
  expected hover focus active visited checked
  see at by per each every another other both either only see please enter
  siehe bitte muss darf wird wurde neu neues too authorization passwort kennwort
  falsch ungültig fehlt abgelaufen erforderlich optional unbekannt keine keins geändert gesetzt
`);

/** What interfaces call a password, token or key. */
const labels = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${secretWord}|password\\w*|passwort\\w*|kennwort\\w*|geheimnis|schlüssel|mot de passe|jeton|clé|contraseña|clave|senha|chave|parola|chiave|wachtwoord|sleutel|lösenord|adgangskode|passord|salasana|hasło|heslo|jelszó|parolă|şifre|login|log in|sign in|sign up|account|session)s?(?![\\p{L}\\p{N}])|парол|ключ|токен|密码|密碼|口令|密钥|令牌|パスワード|トークン|キー|비밀번호|암호|토큰|รหัสผ่าน|كلمة|סיסמה`,
  'iu',
);

/** Function words, which most sentences contain and few passwords do. */
const functionWord =
  'is|are|was|be|been|the|a|an|your|my|our|this|that|must|may|can|should|will|not|no|at|of|for|to|from|in|on|with|and|or|if|it|has|have|does|do|please|enter|see|by|as|than|then|when|which|who|until|before|after|der|die|das|und|oder|ist|für|mit|von|im|nicht';
const inSentence = new RegExp(`(?:^|\\s)(?:${functionWord})(?=[\\s,.;:!?]|$)`, 'i');
const labelNext = new RegExp(`^(?:[ \\t]+\\p{Ll}+){0,3}[ \\t]+(?:${secretWord})s?\\b`, 'u');
const beginsWithFunctionWord = new RegExp(`^[ \\t]+(?:${functionWord})(?=[\\s,.;:!?]|$)`);

/**
 * Whether a value is not a secret although its name says so: it is plainly a placeholder, a reference, code, a word of
 * a schema, a label or prose. In doubt, it is a secret.
 */
export function isHarmless(value: string, context: ValueContext): boolean {
  const { isExact, isQuoted } = context;
  if (!/[\p{L}\p{N}]/u.test(value)) return true;
  if (value.length < (isExact ? 1 : 3) || /^\d{1,3}(?:%|px|em|rem)?$/.test(value)) return true;
  if (value.length > LONG_VALUE) return !isQuoted && longCode.test(value);
  if (isWord(value)) return true;
  if (isRuleList(value)) return true;
  if (identifiers.some((pattern) => pattern.test(value))) return true;
  if (references.some((pattern) => pattern.test(value))) return true;
  if (isQuoted) return isLabel(value);
  if (code.some((pattern) => pattern.test(value))) return true;
  if (isStructure(value, context.next)) return true;
  if (openCallAtEnd.test(value) && /^[ \t]*(?:\r?\n|$)/.test(context.next)) return true;
  if (openCall.test(value) && /^[\s"'`,)\]]/.test(context.next) && closing.test(context.next))
    return true;
  return isReference(value, context) || (!isExact && isProse(value, context));
}

/** A list, an object, a placeholder in angle brackets: the bracket is closed on its line, or opens a block. */
function isStructure(value: string, next: string): boolean {
  if (!/^[({[<]/.test(value)) return false;
  return value.length === 1 || /[)}\]>]/.test(value) || closing.test(next);
}

/** The rules of a validator: `required|string|min:12`. */
function isRuleList(value: string): boolean {
  const [first = '', ...others] = value.split('|');
  return (
    others.length > 0 && isWord(first) && others.every((rule) => /^[a-z_]+(?::[\w,]+)?$/.test(rule))
  );
}

function isWord(value: string): boolean {
  return words.has(value.toLowerCase().replace(/[…:.,;!?]+$/, ''));
}

/** A part of a sentence. */
const wordOrNumber = /^[\p{L}\p{M}.,;:!?…'’"()/-]+$|^\d{1,4}[.,;:]?$/u;

/** A text of an interface: what the secret is called, or a sentence about it. */
function isLabel(value: string): boolean {
  const text = value.trim();
  const parts = text.split(/\s+/);
  if (!parts.every((part) => wordOrNumber.test(part))) return false;
  if (labels.test(text)) return parts.length > 1 || text.length < 24;
  return (
    parts.length > 1 && (/[.?!:…]$/.test(text) || inSentence.test(text) || isWord(parts[0] ?? ''))
  );
}

/** What precedes a name that code declares or assigns. */
const declaration =
  /(?:^[+-]?|[\s(,;{<])(?:(?:const|let|var|val|final|auto|mut|static|readonly|private|public|protected|abstract|override|export|def|type|String|string|char|func|fn|case|for|if|return)[ \t*&]|(?:this|self)\.|\$this->)[^"'=]*$/;
/** The same without white space around `=`; `export NAME=value` and `readonly NAME=value` are of a shell. */
const exactDeclaration =
  /(?:^|[\s(,;{<])(?:(?:const|let|var|val|final|auto)[ \t*&]|(?:this|self)\.|\$this->)[^"'=]*$/;
const variable = new RegExp(`^${path}[!?]?$`);
const member = new RegExp(`^${name}\\.${name}$`);
/** `CryptoKey`, `ApiKey` */
const secretType =
  /^[A-Z][a-z]{1,12}(?:[A-Z][a-z]{1,12})?(?:Key|Token|Secret|Credentials?|Password)$/;
/** An object in an argument or with shorthands, which YAML does not have. */
const inCode = /[\w$]\([^()]{0,80}\{|\{[^{}]*(?:\.{3}|[\w$]\(|=>)|\{ (?:[^{}:]*:[^{}:,]*,)* ?\w+,/;
const typeName = /^[A-Z][a-z\d]+(?:[A-Z][a-z\d]*)+$/;

/** A variable or a type in code, which only its surroundings tell from a secret. */
function isReference(value: string, { before, next, isExact }: ValueContext): boolean {
  // `const secret = former`, `const token = /^[a-z]+$/`
  const isDeclared = (isExact ? exactDeclaration : declaration).test(before);
  if (isDeclared && (variable.test(value) || /^\/|^[A-Za-z_$][\w$.]{0,100}\(/.test(value)))
    return true;
  if (isExact) return false;
  // `$password = Read-Host -AsSecureString`
  if (/^[A-Z][a-z]+-[A-Z][A-Za-z]+$/.test(value) && /^ [-(]/.test(next)) return true;
  // A line of code that ends, or goes on with an operator
  if (
    variable.test(value) &&
    /^[ \t]*(?:[,;][ \t]*(?:\r?\n|$)|(?:[=!]==?|&&|\|\||\?\??|\+)[ \t])/.test(next)
  )
    return true;
  if (member.test(value) && /^ = \w/.test(next)) return true;
  // `{ password: plainPassword }`, `login({ password: given })`
  if (secretVariable.test(value) && /^[ \t]{0,2}[,;)}\]]/.test(next)) return true;
  if (variable.test(value) && /^[ \t]{0,2}[,})]/.test(next) && inCode.test(before + next))
    return true;
  // `token: TokenSource,`, `secret = KeyObject | null` and `tokens: Map<string, string>`
  if (/^[A-Z][A-Za-z]+$/.test(value) && /^<[A-Za-z]/.test(next)) return true;
  if (secretType.test(value) && !/["']/.test(before)) return true;
  return typeName.test(value) && /^[ \t]{0,2}(?:[;,)>|&[]|=[^=])/.test(next);
}

/** The first word of a sentence, or a number of characters. */
function isProse(value: string, { before, next }: ValueContext): boolean {
  if (/^\d[\d-]*$/.test(value))
    return /^ (?:characters|chars|bytes|digits|letters|words)\b/.test(next);
  if (!/^[\p{L}'’-]+$/u.test(value) || !/^[,;]?[ \t]+\p{L}/u.test(next)) return false;
  // The next name.
  if (/^[,;]?[ \t]+[\w.-]{1,40}["']?[ \t]?[:=]/.test(next)) return false;
  if (!/^\p{Ll}/u.test(value)) return labelNext.test(next);
  // A line that begins with the name, as the subject of a commit does, is a sentence sooner than a line of a log.
  const lower = /^[\w\s(-]{0,12}$/.test(before)
    ? /^[,;]?[ \t]+\p{Ll}+/u
    : /^[,;]?(?:[ \t]+\p{Ll}+){2}/u;
  return beginsWithFunctionWord.test(next) || lower.test(next);
}
