import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor, redact } from '../../../lib/security/redaction/redactor.ts';

const secret = 'pa"ss/wö rd\\+100%';

describe('createRedactor', () => {
  const redactor = createRedactor([secret, 'tiny', '12345678']);

  it.each([
    ['unchanged', secret],
    ['escaped in JSON', JSON.stringify(secret).slice(1, -1)],
    ['escaped in ASCII JSON', JSON.stringify(secret).slice(1, -1).replace('ö', '\\u00f6')],
    ['escaped in JSON with slashes', JSON.stringify(secret).slice(1, -1).replace('/', '\\/')],
    ['escaped in JSON within JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ['encoded in a URL', encodeURIComponent(secret)],
    ['encoded in lower case', encodeURIComponent(secret).replace(/%../g, (it) => it.toLowerCase())],
    ['encoded in a form', encodeURIComponent(secret).replaceAll('%20', '+')],
    ['percent-encoded', Buffer.from(secret).toString('hex').replace(/../g, '%$&')],
    ['in hexadecimal', Buffer.from(secret).toString('hex')],
    ['in upper hexadecimal', Buffer.from(secret).toString('hex').toUpperCase()],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in base64url', Buffer.from(secret).toString('base64url')],
  ])('removes a configured secret %s', (_how, written) => {
    expect(redactor.text(`<${written}>`)).toBe('<[redacted]>');
  });

  it.each([0, 1, 2, 3])(
    'removes a configured secret from a longer text in base64, after %i bytes',
    (before) => {
      const whole = Buffer.from(`${'a'.repeat(before)}${secret}, and more`).toString('base64');
      const shown = redactor.text(whole);
      expect(shown).toContain('[redacted]');
      const left = shown.split('[redacted]').map((part) => Buffer.from(part, 'base64').toString());
      expect(left.join()).not.toMatch(/pa"s|ss\/w|rd\\|100%/);
    },
  );

  it.each(['\u200b', '\u00ad', '\u{e0041}', '\n', '\u001b[31m'])(
    'removes a configured secret that is split by %j',
    (sign) => {
      const plain = createRedactor(['a-configured-string']);
      expect(plain.text(`x a-configured${sign}-string y`)).toBe('x [redacted] y');
      const encoded = Buffer.from('a-configured-string').toString('base64');
      expect(plain.text(`x ${encoded.slice(0, 9)}${sign}${encoded.slice(9)} y`)).toBe(
        'x [redacted] y',
      );
    },
  );

  it('counts removed secrets of a value, including those found by key', () => {
    const value = {
      user: 'me',
      password: 'hunter2-Zq7',
      texts: [secret, 'x', `${secret} ${secret}`],
    };
    expect(redactor.counted(value)).toEqual({
      value: {
        user: 'me',
        password: '[redacted]',
        texts: ['[redacted]', 'x', '[redacted] [redacted]'],
      },
      redacted: 4,
    });
    expect(redactor.counted(redactor.value(value)).redacted).toBe(0);
  });

  it.each(['string', 'Password', '\u0024{PASSWORD}', '', 'required'])(
    'leaves the value %j of a key that names a secret unchanged',
    (text) => {
      expect(redactor.counted({ password: text })).toEqual({
        value: { password: text },
        redacted: 0,
      });
    },
  );

  it('returns the same result in steps', async () => {
    const value = { log: `${'a log line\n'.repeat(40_000)}${secret}`, password: 'hunter2-Zq7' };
    expect(await redactor.countedInSteps(value)).toEqual(redactor.counted(value));
  });

  it('finds a secret at any boundary between windows of a long text', () => {
    for (let before = 131_072 - 40; before <= 131_072 + 4; before += 3) {
      const shown = redactor.text(`${'.'.repeat(before)}${secret}${'.'.repeat(200_000)}`);
      expect(shown.length).toBe(before + '[redacted]'.length + 200_000);
    }
  });

  it('ignores configured secrets of fewer than 8 characters', () => {
    expect(redactor.text('tiny 12345678 1234567')).toBe('tiny [redacted] 1234567');
  });

  it('removes the start of a secret that the end of a long text truncates', () => {
    const before = 'a log line. '.repeat(20);
    for (const end of ['', '…']) {
      const cut = (length: number) => `${before}${secret.slice(0, length)}${end}`;
      expect(redactor.text(cut(secret.length - 1))).toBe(`${before}[redacted]${end}`);
      expect(redactor.text(cut(8))).toBe(`${before}[redacted]${end}`);
      expect(redactor.text(cut(7))).toBe(cut(7));
    }
    expect(redactor.value([before + secret.slice(0, 9), 'next', before])).toEqual([
      `${before}[redacted]`,
      'next',
      before,
    ]);
    expect(createRedactor(['aaaaaaaab']).text(`${before}${'a'.repeat(10)}`)).toBe(
      `${before}aa[redacted]`,
    );
  });

  it('removes the longest of several secrets with the same prefix, and both of two that overlap', () => {
    const some = createRedactor(['abcdefgh', 'abcdefghijkl', 'ijklmnop']);
    expect(some.text('abcdefghijkl.')).toBe('[redacted].');
    expect(some.text('abcdefghijklmnop.')).toBe('[redacted].');
    expect(createRedactor(['abababab']).text('xabababababx')).toBe('x[redacted]x');
  });

  it('does not mask its own mask', () => {
    expect(createRedactor(['redacted']).text('Bearer abcdefgh1')).toBe('Bearer [redacted]');
  });

  it('also removes tokens of known formats', () => {
    expect(redactor.value({ a: ['https://u:p@h'] })).toEqual({ a: ['https://[redacted]@h'] });
  });

  it('keeps everything else in a value', () => {
    const value = { a: [1, null, true, 'x', { b: '' }], c: {}, d: [], '': 'y', e: undefined };
    expect(redactor.value(value)).toEqual(value);
    expect(redactor.value('x')).toBe('x');
    expect(redactor.value(null)).toBe(null);
  });

  it('removes a secret from a key', () => {
    expect(JSON.stringify(redactor.value({ [`a${secret}`]: 1 }))).toBe('{"a[redacted]":1}');
  });

  it('finds a secret that is split across items of a list', () => {
    const [first, second, third] = [secret.slice(0, 5), secret.slice(5, 9), secret.slice(9)];
    expect(
      redactor.value({
        content: [
          { type: 'text', text: `a${first}` },
          { type: 'text', text: second },
          { type: 'text', text: '' },
          { type: 'text', text: `${third}b` },
          { type: 'text', text: 'c' },
        ],
      }),
    ).toEqual({
      content: ['a[redacted]', '[redacted]', '', '[redacted]b', 'c'].map((text) => ({
        type: 'text',
        text,
      })),
    });
    expect(redactor.value([`a${first}`, `${second}${third}`])).toEqual([
      'a[redacted]',
      '[redacted]',
    ]);
    expect(
      redactor.value({
        messages: [{ content: { text: first } }, { content: { text: secret.slice(5) } }],
      }),
    ).toEqual({
      messages: [{ content: { text: '[redacted]' } }, { content: { text: '[redacted]' } }],
    });
  });
});

const alphanumeric = (length: number) =>
  fc.string({
    unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'),
    minLength: length,
    maxLength: length + 30,
  });
const token = fc.oneof(
  fc
    .tuple(fc.constantFrom('ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'), alphanumeric(36))
    .map((parts) => parts.join('')),
  alphanumeric(60).map((text) => `github_pat_${text}`),
  alphanumeric(32).map((text) => `sk-or-v1-${text}`),
  alphanumeric(32).map((text) => `sk-${text}`),
);
/** Any text that is not part of a mask and long enough to be searched for. */
const anySecret = fc
  .string({ unit: 'grapheme', minLength: 8, maxLength: 40 })
  .filter((text) => text.length >= 8 && !'[redacted]'.includes(text));

describe('as a property, redaction', () => {
  it('removes a token at any position of a value', () => {
    fc.assert(
      fc.property(token, fc.json(), fc.string(), fc.string(), (planted, json, before, after) => {
        // A letter before a gateway key makes it another word.
        const text = `${before} ${planted}${after.replace(/^\w+/, '')}`;
        const value = { [text]: [JSON.parse(json), text, { text }] };
        expect(JSON.stringify(createRedactor([]).value(value))).not.toContain(planted);
      }),
    );
  });

  it('removes a configured secret in any form at any position of a value', () => {
    fc.assert(
      fc.property(
        anySecret,
        fc.string(),
        fc.string(),
        fc.json(),
        (planted, before, after, json) => {
          const text = `${before}${planted}${JSON.stringify(planted)}${encodeURIComponent(planted.toWellFormed())}${after}`;
          const redacted = createRedactor([planted]).value({
            list: [JSON.parse(json), text, { text }],
            text,
          });
          for (const found of [
            redacted.text,
            redacted.list[1],
            (redacted.list[2] as { text: string }).text,
          ]) {
            expect(found).not.toContain(planted);
            expect(found).not.toContain(JSON.stringify(planted).slice(1, -1));
            expect(found).not.toContain(encodeURIComponent(planted.toWellFormed()));
          }
        },
      ),
    );
  });

  it('removes a configured secret split across any items', () => {
    fc.assert(
      fc.property(anySecret, fc.array(fc.nat(40), { maxLength: 4 }), (planted, cuts) => {
        const places = [
          0,
          ...cuts.filter((at) => at < planted.length).sort((a, b) => a - b),
          planted.length,
        ];
        const pieces = places.slice(1).map((at, index) => planted.slice(places[index], at));
        const redacted = createRedactor([planted]).value({
          content: pieces.map((text) => ({ text })),
        });
        expect(redacted.content.map(({ text }) => text).join('')).not.toContain(planted);
      }),
    );
  });

  it('is idempotent', () => {
    const part = fc.oneof(
      token,
      fc.string(),
      fc.constantFrom(
        '://',
        '@',
        ':',
        '/',
        'postgres',
        'https',
        'Bearer ',
        'basic ',
        '?token=',
        'sk-',
        "'",
        '"',
        ';',
        '%20',
        '=',
        '[redacted]',
        '8080',
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), anySecret, (parts, planted) => {
        const once = redact(parts.join(''));
        expect(redact(once)).toBe(once);
        const redactor = createRedactor([planted]);
        const value = redactor.value([...parts, planted + parts.join('')]);
        expect(redactor.value(value)).toEqual(value);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps ordinary text unchanged', () => {
    const hexadecimal = (length: number) =>
      fc.string({
        unit: fc.constantFrom(...'0123456789abcdef'),
        minLength: length,
        maxLength: length,
      });
    const word = fc.string({
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'),
      minLength: 1,
      maxLength: 7,
    });
    // A host name such as `sk-aaaaaaa0.aa` cannot be told from the key of a gateway, and what follows the name of a
    // secret is one.
    const hasNoKey = (text: string) =>
      !/sk-|xox[a-z]-|(?:psk|pwd?|pass|pat|pin|key|auth|token|secret)(?![a-z])/i.test(text);
    const ordinary = fc.oneof(
      hexadecimal(40),
      hexadecimal(64),
      fc.uuid(),
      fc.emailAddress(),
      fc.webUrl({ withFragments: true, validSchemes: ['http', 'https'] }),
      fc.array(word, { minLength: 1 }).map((words) => `/${words.join('/')}`),
      fc.array(word, { minLength: 1 }).map((words) => words.join('-')),
      fc.array(word).map((words) => words.join(' ')),
      fc.ipV4(),
      fc.ipV6(),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    );
    fc.assert(
      fc.property(fc.array(ordinary.filter(hasNoKey), { maxLength: 8 }), (parts) => {
        const text = parts.join(' ');
        expect(createRedactor([secret]).value({ text, parts })).toEqual({ text, parts });
      }),
      { numRuns: 2_000 },
    );
  });
});
