import { describe, expect, it } from 'vitest';
import { createRedactor, redact } from '../../../lib/security/redaction/redactor.ts';
import { harmlessTexts } from './harmless-texts.ts';
import { secretShapes as formats, type SecretShape } from './secret-shapes.ts';
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

  const line = '2026-11-22T10:00:00Z acme/widgets: fetched 12 objects in 3.1 s\n';
  const expectRemoved = ({ text, secret }: SecretShape, lines: number) => {
    const around = line.repeat(lines);
    const shown = redact(`${around}${text}\n${around}`);
    for (const part of [secret].flat()) expect(shown).not.toContain(part);
    expect(shown.startsWith(around)).toBe(true);
    expect(shown.endsWith(around)).toBe(true);
  };

  it.each(secretShapes)('$name is removed from the middle of a log', (shape) => {
    expectRemoved(shape, 50);
  });

  // A text of this size costs as much as all short ones together.
  it.each(secretShapes.filter((_, index) => index % 40 === 0))(
    '$name is removed from a log of 200 kB',
    (shape) => {
      expectRemoved(shape, 1_500);
    },
  );
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
