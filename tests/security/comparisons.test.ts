import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

// All secrets are compared with one function, in constant time.

const sources = ['lib', 'api', 'scripts'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

/** Names of secrets. */
const secret = String.raw`[\w.]*(?:secret|token|password|credential|verifier|signature|fingerprint|bearer|digest|api_?key)\w*(?:\([\w.]*\))?`;
const comparisons = [
  new RegExp(String.raw`${secret}\s*[!=]==?`, 'i'),
  new RegExp(String.raw`[!=]==?\s*${secret}`, 'i'),
  new RegExp(
    String.raw`${secret}\.(?:startsWith|endsWith|includes|indexOf|localeCompare|equals|compare)\(`,
    'i',
  ),
  new RegExp(
    String.raw`\.(?:startsWith|endsWith|includes|indexOf|localeCompare|equals|compare)\(${secret}\)`,
    'i',
  ),
];
/** Comparisons that only check presence or type, which is no secret. */
const harmless =
  /\b(?:typeof )?[\w.]+(?:\([\w.]*\))?\)? [!=]== \(?(?:undefined|null|''|'string'|[A-Z_]+ === undefined)|\.length [<>]=? ?[\w.]+/g;
function comparesSecret(line: string): boolean {
  const code = line.replace(/^\s*(?:\*|\/\/|\/\*).*/, '').replace(/ \/\/ .*$/, '');
  const rest = code.replace(harmless, '');
  return comparisons.some((comparison) => comparison.test(rest));
}

it('secrets are only compared with secretsEqual', () => {
  expect(sources.length).toBeGreaterThan(200);
  const found = sources.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => comparesSecret(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

it.each([
  'if (given === config.INTERNAL_SECRET) return true;',
  'return token !== expectedToken;',
  'if (AUTH_PASSWORD == password) {',
  'return fingerprintHash(stored) === credential;',
  'if (header.startsWith(secret)) {',
  'return secret.includes(header);',
  'return Buffer.from(given).equals(token);',
])('the source `%s` would be detected', (line) => {
  expect(comparesSecret(line)).toBe(true);
});

it.each([
  'if (token === undefined || secret === null) return null;',
  "if (INTERNAL_SECRET === '') return;",
  "typeof answer.access_token !== 'string' &&",
  'return secret.length >= INTERNAL_SECRET_MIN_LENGTH;',
  'return secretsEqual(header, secret);',
])('the source `%s` is allowed', (line) => {
  expect(comparesSecret(line)).toBe(false);
});

it('constant-time comparisons always hash first', () => {
  const users = sources.filter((path) => readFileSync(path, 'utf8').includes('timingSafeEqual'));
  expect(users.toSorted()).toEqual(['lib/security/crypto.ts', 'lib/security/password.ts']);
});
