import { describe, expect, it } from 'vitest';
import { createRedactor, redact } from '../../../lib/security/redaction/redactor.ts';
import { harmlessTexts } from './harmless-texts.ts';
import { secretShapes as formats } from './secret-shapes.ts';
import { secretsInUse } from './secrets-in-use.ts';

const secretShapes = [...formats, ...secretsInUse];

describe('in the test data of redaction', () => {
  it('there are at least 400 distinct secrets and 500 distinct harmless texts', () => {
    expect(new Set(secretShapes.map(({ text }) => text)).size).toBeGreaterThanOrEqual(400);
    expect(new Set(harmlessTexts).size).toBeGreaterThanOrEqual(500);
    expect(new Set(harmlessTexts).size).toBe(harmlessTexts.length);
  });

  it.each(secretShapes)('$name is removed', ({ text, secret, kept = '' }) => {
    const shown = redact(text);
    for (const part of [secret].flat()) expect(shown).not.toContain(part);
    expect(shown).toContain('[redacted]');
    expect(shown).toContain(kept);
    expect(redact(shown)).toBe(shown);
  });

  it.each(secretShapes)('$name is removed from a log of 200 kB', ({ text, secret }) => {
    const line = '2026-11-22T10:00:00Z acme/widgets: fetched 12 objects in 3.1 s\n';
    const shown = redact(`${line.repeat(1_500)}${text}\n${line.repeat(1_500)}`);
    for (const part of [secret].flat()) expect(shown).not.toContain(part);
    expect(shown.startsWith(line.repeat(1_500))).toBe(true);
    expect(shown.endsWith(line.repeat(1_500))).toBe(true);
  });
});

describe('a value whose key names a secret', () => {
  it.each([
    ['in a list', { password: ['correct-horse-battery'] }],
    ['next to a mask that was part of the text', { password: 'correct[redacted]horse-battery' }],
  ])('is removed %s', (_where, value) => {
    const shown = createRedactor([]).counted(value);
    expect(shown.redacted).toBe(1);
    expect(JSON.stringify(shown.value)).not.toContain('horse');
  });
});

describe('a harmless text', () => {
  it.each(harmlessTexts)('stays unchanged: %j', (text) => {
    expect(createRedactor(['a-configured-secret']).counted(text)).toEqual({
      value: text,
      redacted: 0,
    });
  });

  it('stays unchanged among all others', () => {
    const text = harmlessTexts.join('\n');
    expect(redact(text)).toBe(text);
  });
});
