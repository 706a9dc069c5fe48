import { describe, expect, it } from 'vitest';
import { redact } from '../../../lib/security/redaction/redactor.ts';

const random36 = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5';

describe('redact', () => {
  it.each([
    ['https://user:secret@host/path', 'https://[redacted]@host/path'],
    [`https://${random36}@host`, 'https://[redacted]@host'],
    ['HTTPS://user:secret@host', 'HTTPS://[redacted]@host'],
    ['git+ssh://git:secret@host', 'git+ssh://[redacted]@host'],
    [
      "unable to access 'https://a:secret@one/' or 'https://b:secret@two/'",
      "unable to access 'https://[redacted]@one/' or 'https://[redacted]@two/'",
    ],
    ["https://user:se'cret@host/", 'https://[redacted]@host/'],
    ['https://user:se"cret@host/', 'https://[redacted]@host/'],
    ['https://user:se/cret@host/path', 'https://[redacted]@host/path'],
    ['https://user:se@cret@host/path', 'https://[redacted]@host/path'],
    ['{"a":"https://u:secret@h","b":"c@d"}', '{"a":"https://[redacted]@h","b":"c@d"}'],
    ['https://u:one@h,https://u:two@h', 'https://[redacted]@h,https://[redacted]@h'],
  ])('removes the credential of the URL %s', (text, redacted) => {
    expect(redact(text)).toBe(redacted);
  });

  it.each([
    'postgres',
    'postgresql',
    'postgresql+asyncpg',
    'postgresql+psycopg2cffi',
    'mysql+pymysql',
    'mongodb+srv',
    'redis',
    'rediss',
    'amqps',
    'mssql+pyodbc',
  ])('removes the password of a database URL: %s', (scheme) => {
    for (const password of [
      'secret',
      'p@ss',
      'p/a/s',
      "p'a",
      'p?a#b',
      '12/34',
      'p:a',
      'p@s/s',
      '@/@/',
    ]) {
      expect(redact(`to ${scheme}://me:${password}@host:5432/db?x=1 now`)).toBe(
        `to ${scheme}://[redacted]@host:5432/db?x=1 now`,
      );
    }
    expect(redact(`${scheme}://:secret@host/0`)).toBe(`${scheme}://[redacted]@host/0`);
  });

  it.each([
    ['Authorization: Bearer secret-token.x', 'Authorization: Bearer [redacted]'],
    ['authorization: bearer  secretsecret==', 'authorization: bearer  [redacted]'],
    ['Bearer%20abcdefgh12', 'Bearer%20[redacted]'],
    ['{"h":"Bearer abcdefgh12"}', '{"h":"Bearer [redacted]"}'],
    ['{"h":"a\\nBearer abcdefgh12"}', '{"h":"a\\nBearer [redacted]"}'],
    ['\u001b[31mBearer abcdefgh12', '\u001b[31mBearer [redacted]'],
    ['Basic dXNlcjpzZWNyZXQ=', 'Basic [redacted]'],
    ['Basic dXNlcjpzZWNyZXQ%3D', 'Basic [redacted]'],
    ['/x?access_token=abc&a=1', '/x?access_token=[redacted]&a=1'],
    ['/x?a=1&amp;X-Amz-Signature=abc', '/x?a=1&amp;X-Amz-Signature=[redacted]'],
    ['/x?api_key=abc#top', '/x?api_key=[redacted]#top'],
    ['/x?client_secret=a%20b', '/x?client_secret=[redacted]'],
  ])('removes the credential of %s', (text, redacted) => {
    expect(redact(text)).toBe(redacted);
  });

  it.each([
    ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map((prefix) => prefix + random36),
    `ghp_${random36}${random36}`,
    'ghs_12345_eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiIxIn0.c2ln-bmF0_dXJl',
    `github_pat_11ABCDEFG0${random36.slice(0, 12)}_${random36}${random36.slice(0, 23)}`,
    `sk-or-v1-${'0123456789abcdef'.repeat(4)}`,
    `sk-${'a'.repeat(48)}`,
    'sk-proj-aB3_dE5gH7-jK9mN1pQ3sT5v',
  ])('removes the token %s at any position', (token) => {
    for (const [before, after] of [
      ['', ''],
      ['a ', ' b'],
      ['"', '"'],
      ['TOKEN=', ';'],
      ['(', ').'],
      ['x_', '\n'],
      ['"key:\\n', '\\n"'],
      ['"\\u0041', '"'],
      ['%3A%0A', '%0A'],
      ['\u001b[1;31m', '\u001b[0m'],
      ['"\\u001b[31m', '\\u001b[0m"'],
      ['[31m', '[0m'],
    ] as const) {
      expect(redact(before + token + after)).toMatch(/\[redacted\]/);
      expect(redact(before + token + after)).not.toContain(token.slice(-12));
    }
    expect(redact(`a ${token} b`)).toBe('a [redacted] b');
  });

  it.each([
    ['ghp_aB3dE5gH7j', '[redacted]'],
    ['github_pat_11ABCDEFG0', '[redacted]'],
    ['postgres://me:secr', 'postgres://[redacted]'],
    ['https://me:se/cr', 'https://[redacted]'],
  ])('removes %s, truncated by the end of a long text', (cut, redacted) => {
    const before = 'a log line. '.repeat(20);
    expect(redact(before + cut)).toBe(before + redacted);
    expect(redact(`${before}${cut}…`)).toBe(`${before}${redacted}…`);
  });

  it.each(['https://host:8080', 'http://[::1]:80/a', 'https://host:8080).', 'https://host:80/a:b'])(
    'leaves the end %s of a long text unchanged',
    (end) => {
      const text = 'a log line. '.repeat(20) + end;
      expect(redact(text)).toBe(text);
    },
  );

  it.each([
    '',
    'https://host/path?q=a@b',
    'https://ada@host',
    'https://host:8080/@scope/package',
    'http://[::1]:8080/a@b',
    'http://127.0.0.1:54329',
    "['https://host','a@example.org']",
    '{"url":"https://host:80","mail":"a@example.org"}',
    'https://host/page?max_tokens=100&page=2',
    'postgres://postgres@127.0.0.1:54329/postgres',
    'postgres://host:5432/db?email=a@example.org',
    'sk-learn at C:\\new\\bsk and 100%25 of task-force-one',
    'ssh://git@example.org/owner/repo.git',
    'git@host:owner/repo.git',
    'mail someone@example.org',
    'the bearer of this',
    'Basic authentication is off, bearer authentication is required',
    'WWW-Authenticate: Bearer realm=backup-api',
    'task-management-system-2026 and sk-learn-contrib',
    'commit 54786396357e8efebb7dce01b868e0cd19d265df',
    `sha256:${'0123456789abcdef'.repeat(4)}`,
    'C:\\Users\\me\\file.txt and /var/lib/x.tar.gz',
    'ghp_short and github_pat_short',
    '00000000-0000-4000-8000-000000000000',
  ])('leaves %j unchanged', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('takes linear time for hostile text', () => {
    for (const part of [
      'a://b:',
      '://',
      'ghp_',
      'ghp_a.',
      'sk-',
      'sk-a',
      'bearer ',
      'basic a',
      'bearer\t\t',
      '?token',
      '&a-token=',
      'a'.repeat(100),
      'postgres+a',
      "'",
      'zip -P ',
      'a:b@tcp(',
      'docker login -p ',
      'password: |\n ',
      '"kty"',
      '-----BEGIN PRIVATE KEY-----\n',
      'x: -----BEGIN PRIVATE KEY-----\nx: ',
      'YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo= ',
      'token: a.a.a.a(',
      '%20',
      '@',
      ':',
    ]) {
      // Quadratic time would take minutes for this length.
      expect(redact(part.repeat(400_000 / part.length)).length).toBeGreaterThan(0);
    }
  });

  it('survives a single word of 1 MB after any prefix', () => {
    const word = 'a'.repeat(1_000_000);
    for (const start of [
      ...['ghp_', 'github_pat_', 'sk-', 'Bearer ', 'Basic ', '?token=', '?', 'https://', '://a:'],
      ...['ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.', 'postgres://me:'],
    ]) {
      for (const text of [start + word, `${start}${word}@host`, `${word}=${start}`]) {
        expect(redact(text).length).toBeGreaterThan(0);
      }
    }
    expect(redact(`${' '.repeat(1_000_000)}Bearer${' '.repeat(1_000_000)}=`)).toContain('Bearer');
  });
});
