import fc from 'fast-check';

const texts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
  '\u202e\u2066',
  'e\u0301'.repeat(500),
  '\ufeff\ufffe\uffff',
  'İıß\u1e9e',
  'x'.repeat(10_001),
  '\u{1d54f}'.repeat(1_000),
  '\r\nSet-Cookie: a=b\r\n\r\n',
  '__proto__',
  'constructor',
  'toString',
  "'; DROP TABLE backup_runs; --",
  "' OR '1'='1",
  '1; SELECT pg_sleep(5)',
  '$1',
  '%s%n%_\\',
  'id DESC, (SELECT 1)',
  'a & | ! <-> b:* ()',
  '"unbalanced',
  '-"',
  '--------',
  'or or or -or "or"',
  ':*:*:*',
  "''''\\'",
  '../../../etc/passwd',
  '..%2f..',
  '/absolute',
  '\\\\server\\share',
  '-upload-pack=touch /tmp/x',
  '--output=/tmp/x',
  '<script>alert(1)</script>',
  '=1+1',
  '{{7*7}}',
  '#{7*7}',
  '%',
  '%zz',
  '%00',
  '%c0%ae',
  '+',
  'a=b&c=d#e?f',
  'null',
  'true',
  'NaN',
  'Infinity',
  '0x10',
  '1e3',
  '1.0',
  '-0',
  '٣',
  '2147483648',
  '-2147483649',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '1'.repeat(400),
  '00000000-0000-0000-0000-000000000000',
  '{00000000-0000-4000-8000-000000000000}',
  '00000000000040008000000000000000',
  'ghp_0123456789abcdefghijABCDEFGHIJ456789',
  'https://user:password@example.com/',
] as const;

const numbers = [
  0,
  -0,
  -1,
  0.5,
  1e-320,
  1e21,
  1e308,
  -1e308,
  2_147_483_647,
  2_147_483_648,
  -2_147_483_649,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  2 ** 63,
  2 ** 64,
] as const;

/** A text that an attacker might try, or any text at all. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...texts) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
);

/** A JSON value of any type, which the field does not expect. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  { weight: 3, arbitrary: fc.constantFrom(...numbers) },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null], { '': '' }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.array(hostileText, { maxLength: 60 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(hostileText, hostileText, { maxKeys: 5, noNullPrototype: true }),
  },
);

/** A change to the text of a body after it was written, whatever it contains. */
export type Distort = (text: string) => string;

const nested = (open: string, close: string, depth: number) =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;

const distortions: readonly Distort[] = [
  // The same keys twice: a parser takes the last one.
  (text) => text.replace(/^\{/, `{${text.slice(1, -1)}${text === '{}' ? '' : ','}`),
  (text) => text.replace(/^\{/, '{"__proto__":{"admin":true},"constructor":{"prototype":1},'),
  (text) => text.replace(/:[^,}]*/, ':1e999'),
  (text) => text.replace(/:[^,}]*/, ':123456789012345678901234567890'),
  (text) => text.replace(/:[^,}]*/, `:${nested('[', ']', 5_000)}`),
  (text) => text.replace(/:[^,}]*/, `:${nested('{"a":', '}', 5_000)}`),
  (text) => text.replace(/\}$/, `,"deep":${nested('[', ']', 20_000)}}`),
  (text) => text.replace(/\}$/, `,"deep":${nested('{"\\u0061":', '}', 20_000)}}`),
  () => nested('[', ']', 100_000),
  () => '['.repeat(100_000),
  (text) => text.slice(0, Math.floor(text.length / 2)),
  (text) => `\ufeff${text}`,
  (text) => `${text}${text}`,
  (text) => `[${text}]`,
  // Sent as Latin-1, so these bytes are not UTF-8.
  (text) => text.replace(/[a-z]/, '\xff\xc0\x80'),
  () => '\xed\xa0\x80',
  (text) => text.replace(/\}$/, ',}'),
  (text) => text.replaceAll('"', "'"),
  () => '"\\ud800"',
  () => 'null',
  () => '0',
  () => '',
  () => ' \n\t',
  () => `"${'x'.repeat(1_100_000)}"`,
];

/** A distortion of one body in a few. */
export const distortion: fc.Arbitrary<Distort> = fc.constantFrom(...distortions);

/** Media types that no body has. */
export const hostileMediaType: fc.Arbitrary<string> = fc.constantFrom(
  'text/plain',
  'application/json; charset=utf-16',
  'application/json;;;',
  'APPLICATION/JSON',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/problem+json',
  '*/*',
  '',
  ';',
  'x'.repeat(1_000),
);
