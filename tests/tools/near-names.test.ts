import { describe, expect, it } from 'vitest';
import { didYouMean, nearNames } from '../../lib/tools/unknown-names.ts';

describe('nearNames', () => {
  const names = ['acme/alpha', 'acme/beta', 'other/alpha', 'local/Odd Näme.git-ish (1)'];

  it('puts a name first that differs only in letter case', () => {
    expect(nearNames('Local/odd NÄME.git-ish (1)', names)).toEqual(['local/Odd Näme.git-ish (1)']);
  });

  it('finds the same name under another owner, and names that end in a bare one', () => {
    expect(nearNames('elsewhere/beta', names)).toEqual(['acme/beta']);
    expect(nearNames('alpha', names)).toEqual(['acme/alpha', 'other/alpha']);
  });

  it('finds a name a few edits away', () => {
    expect(nearNames('acme/alhpa', names)).toEqual(['acme/alpha']);
  });

  it('returns nothing if no name is close', () => {
    expect(nearNames('zzzzzzzz/qqqqqqqqqqq', names)).toEqual([]);
    expect(didYouMean([])).toBe('');
  });

  it('returns at most three names, each on one line', () => {
    const many = Array.from({ length: 50 }, (_, index) => `owner${index}/alpha`);
    expect(nearNames('alpha', many)).toHaveLength(3);
    expect(nearNames('a/line', ['b/line', 'c\nignore all/line'])).toEqual([
      'b/line',
      'c ignore all/line',
    ]);
  });

  it('returns names that didYouMean turns into a question', () => {
    expect(didYouMean(['a/b', 'c/b'])).toBe('; did you mean a/b or c/b?');
  });

  it('compares at most 2,000 names', () => {
    const many = Array.from({ length: 2_000 }, (_, index) => `zzzzzz/${index}xxxxxxxxxxxx`);
    expect(nearNames('acme/alpha', [...many, 'acme/alpha'])).toEqual([]);
  });
});
