/** The context of a value whose name says that it is a secret. */
export interface ValueContext {
  /** It follows its name without a gap, as in a shell, URL or XML, so it is not prose. */
  isExact: boolean;
  isQuoted: boolean;
  /** The text that follows it. */
  next: string;
}

const secretWord = 'pass(?:word|wd|phrase|code)?|pwd|secret|token|key|credentials?|auth|cookie';

/** References to a value: a variable, template, placeholder, path or URL. */
const references = [
  // $NAME, ${NAME}, $(command), $1, $config['x'], $this->x
  /^\$(?:[{(]|[A-Z_]+\d?$|[a-z_]+$|\d+$|\w+(?:\[|->|\.))/,
  // {{ name }}, {name}, <name>, [name], %NAME%, %(name)s, %s
  /^\{\{|^\{[^{}]*\}?$|^<[^<>]*>?$|^\[[^\]]*\]?$|^%(?:\(\w+\)|\w+%$|[a-z]$)/,
  // :name and @name of SQL, !tag and &anchor of YAML
  /^[:@!&][A-Za-z_]+$/,
  // YOUR_TOKEN, your-token-here, xxxx
  /^[A-Z]+(?:_[A-Z]+)+$|^your\b|^your[-_]|^x{3,}$/i,
  // Paths and URLs; passwords in URLs are found by another rule
  /^(?:~|\.{1,2}|[A-Za-z]:)[\\/]|^(?:\/[\w.@-]{1,24}){2,}\/?$|^[a-z][a-z\d+.-]{1,20}:\/\//i,
  // Public keys of ssh
  /^(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-/,
];

/** Calls, members and elements in code. */
const code = [
  /^(?:[A-Za-z_$][\w$]*(?:\?\.|\.|::|->)){0,8}[A-Za-z_$][\w$]*\(/,
  /^[A-Za-z_$][\w$.]*\[/,
  /^[A-Za-z_$]+(?:(?:\?\.|\.|::|->)[A-Za-z_$]+)+[!?]?$/,
  new RegExp(`^[A-Za-z_$][\\w$]*(?:\\.[A-Za-z_$][\\w$]*)*\\.\\w*(?:${secretWord})$`, 'i'),
  /^[({[\\|&?!*<>+-]/,
];

/** Identifiers: `dbPassword`, `user_token`, `password`. */
const identifiers = [
  new RegExp(`^(?:[A-Za-z]+_)*(?:${secretWord})s?$`, 'i'),
  /^[A-Za-z]*[a-z](?:Pass(?:word|wd|phrase|code)?|Pwd|Secret|Token|Key|Credential|Auth|Cookie)s?$/,
];

/** Only the start of longer values is checked. */
const LONG_VALUE = 200;
/** A call, an element or the start of a list, in code without white space. */
const longCode = /^[A-Za-z_$][\w$.]{0,100}[([]|^[({[]/;

const words = new Set(
  `null nil none undefined true false yes no on off n/a na nan empty unset set unknown default required optional
  missing invalid valid expired wrong incorrect hidden masked redacted removed omitted disabled enabled changed
  revoked refused denied rejected accepted string str text char varchar number int integer bool boolean byte bytes
  buffer object any void never self this input output await new async typeof function return import from if is
  to for and or in with the a an as not of must may can cannot will was has have when use used uses option options
  flag argument parameter prompt stdin file env environment vault keychain value example`.split(
    /\s+/,
  ),
);

/** Function words, which most sentences contain and few passwords do. */
const inSentence =
  /(?:^|\s)(?:is|are|was|be|been|the|a|an|your|my|our|this|that|must|may|can|should|will|not|no|at|of|for|to|from|in|on|with|and|or|if|it|has|have|does|do|please|enter|see)(?=[\s,.;:!?]|$)/i;

/**
 * Whether a value is not a secret although its name says so: it may be a reference, code, a type, a label or
 * prose. In doubt, it is a secret.
 */
export function isHarmless(value: string, context: ValueContext): boolean {
  const { isExact, isQuoted } = context;
  if (!/[\p{L}\p{N}]/u.test(value)) return true;
  if (value.length < (isExact ? 1 : 3) || /^\d{1,3}$/.test(value)) return true;
  if (value.length > LONG_VALUE) return !isQuoted && longCode.test(value);
  if (words.has(value.toLowerCase())) return true;
  if (identifiers.some((pattern) => pattern.test(value))) return true;
  if (references.some((pattern) => pattern.test(value))) return true;
  if (isQuoted) return isLabel(value, isExact);
  if (code.some((pattern) => pattern.test(value))) return true;
  return !isExact && isProseOrCode(value, context.next);
}

/** A part of a sentence. */
const wordOrNumber = /^[\p{L}\p{M}.,;:!?…'’"()/-]+$|^\d{1,4}[.,;:]?$/u;

/** A sentence, or one capitalized word. */
function isLabel(value: string, isExact: boolean): boolean {
  if (!/\s/.test(value)) return !isExact && /^\p{Lu}\p{Ll}*[…:.!?]*$/u.test(value);
  if (
    !value
      .trim()
      .split(/\s+/)
      .every((word) => wordOrNumber.test(word))
  )
    return false;
  return /^\p{Lu}|[.?!:…]$/u.test(value) || inSentence.test(value) || !/^[ -~]*$/.test(value);
}

/** A bare word followed by more words or code. */
function isProseOrCode(value: string, next: string): boolean {
  if (!/^[A-Za-z_$'’-]+$/.test(value)) return false;
  if (/^\s{0,2}[;,)|&\]<(?]|^[ \t]+[^\s#]/.test(next)) return true;
  return /^[a-z]+[A-Z]|_|^[A-Z][a-z]+$/.test(value);
}
