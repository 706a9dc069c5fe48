import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { embedByHashing, hashingModel, normalize } from '../../lib/search/embedders/hashing.ts';
import { findTerms } from '../../lib/search/embedders/terms.ts';

const dot = (a: Float32Array, b: Float32Array) =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
const similarity = (a: string, b: string) => dot(embedByHashing(a), embedByHashing(b));

const logs = {
  reset: 'owner-1/repository-17 fatal: unable to access the remote: ECONNRESET after 30000 ms',
  archived: 'archived 44 commits, 363.5 KiB in local__backup-observatory.bundle',
  refused: 'git clone failed: exit status 128 for https://git.example.com/acme/web-frontend.git',
  memory: 'pack-objects died of signal 9, not enough memory',
  pushed: 'commit 54786396357e8efebb7dce01b868e0cd19d265df pushed',
  changed: 'acme/data-pipeline: new or changed, cloning',
};

/** The log nearest to a query. */
function nearest(query: string): string | undefined {
  const ranked = Object.entries(logs).sort(
    ([, a], [, b]) => similarity(query, b) - similarity(query, a),
  );
  return ranked[0]?.[0];
}

describe('the built-in embedding model', () => {
  it('is described as lexical, not semantic, in the registry', () => {
    expect(hashingModel).toMatchObject({ id: 'local/hashing-384', dimensions: 384, is_free: true });
    expect(hashingModel.name).toMatch(/lexical, not semantic/);
  });

  it('gives every text the same unit vector of 384 finite numbers each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const vector = embedByHashing(text);
        expect(vector).toHaveLength(384);
        expect(vector.every(Number.isFinite)).toBe(true);
        expect(Math.sqrt(dot(vector, vector))).toBeCloseTo(1, 4);
        expect(embedByHashing(text)).toEqual(vector);
      }),
    );
  });

  it.each(['', '   ', '…', '!!!'])('also gives %j a vector', (text) => {
    expect(dot(embedByHashing(text), embedByHashing(text))).toBeCloseTo(1, 4);
  });

  // Vectors stored by older versions of the code must stay comparable.
  it('still gives the vectors stored under its id', () => {
    const vector = embedByHashing('owner/repo-name: fatal ECONNRESET, exit status 128');
    const largest = [...vector.entries()]
      .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
      .slice(0, 4)
      .map(([place, value]) => `${place} ${value.toFixed(4)}`);
    expect(largest).toMatchInlineSnapshot(`
      [
        "374 -0.2841",
        "197 -0.2523",
        "261 0.2156",
        "44 0.1907",
      ]
    `);
  });

  it.each([
    ['an error code', 'econnreset', 'reset'],
    ['a status', 'exit status 128', 'refused'],
    ['a part of an identifier', 'data pipeline', 'changed'],
    ['the short form of a commit', '5478639', 'pushed'],
    ['a misspelt name', 'web-fronted', 'refused'],
    ['other forms of the same words', 'clones of changes', 'changed'],
    ['the owner of a repository', 'acme/data-pipeline', 'changed'],
    ['words in another order', 'memory not enough', 'memory'],
  ])('finds %s', (_what, query, log) => {
    expect(nearest(query)).toBe(log);
  });

  it('counts repeated words sublinearly', () => {
    const once = similarity('timeout', 'timeout of remote');
    const often = similarity('timeout', `${'timeout '.repeat(10)}of remote`);
    expect(often).toBeGreaterThan(once);
    expect(often).toBeLessThan(1);
    expect(similarity('remote', `${'timeout '.repeat(10)}of remote`)).toBeGreaterThan(0.15);
  });

  it('takes linear time for a hostile text', () => {
    const terms = findTerms('a/'.repeat(50_000));
    expect(terms.size).toBeLessThan(10);
  });
});

describe('findTerms', () => {
  const spellings = (text: string) => [...findTerms(text).keys()].sort();

  it.each([
    ['owner/repo-name', ['name', 'owner', 'owner/repo-name', 'repo', 'repo-name']],
    ['fetchOrigin', ['fetch', 'fetchorigin', 'origin']],
    ['HTTPError', ['error', 'http', 'httperror']],
    ['(fatal: "ECONNRESET")', ['econnreset', 'fatal']],
    ['Größe, naïve', ['größe', 'naïve']],
  ])('splits %j into %j', (text, expected) => {
    expect(spellings(text)).toEqual(expected);
  });
});

it('normalize rejects a vector without a direction', () => {
  expect(() => normalize(new Float32Array(3))).toThrow(RangeError);
  expect(() => normalize(Float32Array.of(1, Number.NaN))).toThrow(RangeError);
  expect([...normalize(Float32Array.of(3, 4))]).toEqual([
    expect.closeTo(0.6, 5),
    expect.closeTo(0.8, 5),
  ]);
});
