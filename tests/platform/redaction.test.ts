import { describe, expect, it } from 'vitest';
import { redact } from '../../lib/platform/redaction.ts';

describe('redact', () => {
  it.each([
    ['https://user:secret@host/path', 'https://[redacted]@host/path'],
    ['https://secret@host', 'https://[redacted]@host'],
    ['HTTPS://user:secret@host', 'HTTPS://[redacted]@host'],
    ['postgres://me:p@ss@host/db', 'postgres://[redacted]@host/db'],
    ['git+ssh://git:secret@host', 'git+ssh://[redacted]@host'],
    [
      "unable to access 'https://a:secret@one/' or 'https://b:secret@two/'",
      "unable to access 'https://[redacted]@one/' or 'https://[redacted]@two/'",
    ],
    ['Authorization: Bearer secret-token.x', 'Authorization: Bearer [redacted]'],
    ['authorization: bearer  secretsecret==', 'authorization: bearer  [redacted]'],
    ['Basic dXNlcjpzZWNyZXQ=', 'Basic [redacted]'],
  ])('removes the credential of %s', (text, redacted) => {
    expect(redact(text)).toBe(redacted);
  });

  it.each([
    'https://host/path?q=a@b',
    'git@host:owner/repo.git',
    'mail someone@example.org',
    'the bearer of this',
    '',
  ])('leaves %j as it is', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('takes time in proportion to a long hostile text', () => {
    const text = `${'a'.repeat(200_000)}://${'b:'.repeat(200_000)}`;
    const startedAt = performance.now();
    redact(text);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
