import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuery, type QueryTerm } from '../../lib/search/parse-query.ts';

const word = (text: string): QueryTerm => ({ text, phrase: false, negated: false });
const phrase = (text: string): QueryTerm => ({ text, phrase: true, negated: false });
const without = (term: QueryTerm): QueryTerm => ({ ...term, negated: true });

describe('parseQuery', () => {
  it.each([
    ['clone failed', [[word('clone'), word('failed')]]],
    ['"exit status 128" clone', [[phrase('exit status 128'), word('clone')]]],
    ['clone -timeout', [[word('clone'), without(word('timeout'))]]],
    ['clone -"timed out"', [[word('clone'), without(phrase('timed out'))]]],
    ['clone or fetch OR push', [[word('clone')], [word('fetch')], [word('push')]]],
    ['owner/repo-name', [[word('owner/repo-name')]]],
  ])('parses %j', (query, alternatives) => {
    expect(parseQuery(query).alternatives).toEqual(alternatives);
  });

  it.each([
    ['--depth 1', [[word('--depth'), word('1')]]],
    ['-128', [[word('128')]]],
    ['clone "', [[word('clone')]]],
    ['say "no end', [[word('say'), word('no'), word('end')]]],
    ['a - b | & ! ( <->', [[word('a'), word('b')]]],
    ['or', []],
    ['"" !!! ---', []],
    ['null\0byte', [[word('null'), word('byte')]]],
  ])('treats %j, which is not valid syntax, as plain words', (query, alternatives) => {
    expect(parseQuery(query).alternatives).toEqual(alternatives);
  });

  it('leaves excluded words out of the text to embed', () => {
    expect(parseQuery('clone "timed out" -push').wanted).toBe('clone timed out');
  });

  it('removes duplicates, and uses only the beginning of a pasted phrase', () => {
    expect(parseQuery('a b a -b b -b "timed  out" or a').alternatives).toEqual([
      [word('a'), word('b'), without(word('b')), phrase('timed out')],
      [word('a')],
    ]);
    expect(parseQuery(`"${'timed out '.repeat(90)}"`).alternatives).toEqual([
      [phrase(Array.from({ length: 24 }, () => 'timed out').join(' '))],
    ]);
  });

  it('returns a bounded result for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1_000 }), (query) => {
        const { alternatives } = parseQuery(query);
        expect(alternatives.flat().length).toBeLessThanOrEqual(48);
        for (const terms of alternatives) {
          expect(terms.some(({ negated }) => !negated)).toBe(true);
        }
      }),
    );
  });
});
