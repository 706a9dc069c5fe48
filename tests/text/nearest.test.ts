import { describe, expect, it } from 'vitest';
import { nearestWords } from '../../lib/text/nearest.ts';

describe('the nearest words', () => {
  it('come in the order of their edits, and leave out what differs too much', () => {
    const words = ['resort', 'report', 'reports', 'rapport', 'sort', 'x', 'observatory'];
    expect(nearestWords('reprot', words, 10)).toEqual(['report']);
    expect(nearestWords('report', words, 2)).toEqual(['report', 'resort']);
    expect(nearestWords('', ['a', 'abc'], 3)).toEqual(['a']);
  });

  it('are found among many others', () => {
    const others = Array.from({ length: 20_000 }, (_, n) => `owner-${n * 7919}/repository-${n}`);
    expect(nearestWords('ada/engin', [...others, 'ada/engine'], 3)).toEqual(['ada/engine']);
  });

  it('are looked for within a bound, however many long words resemble the typed one', () => {
    let read = 0;
    function* hostile() {
      for (let n = 0; n < 1_000_000; n++) {
        read++;
        yield `${'a'.repeat(60)}${n}`;
      }
    }
    expect(nearestWords('a'.repeat(64), hostile(), 3)).toHaveLength(3);
    expect(read).toBeLessThan(1_000);
  });
});
