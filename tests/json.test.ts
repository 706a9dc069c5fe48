import { expect, it } from 'vitest';
import { parseJson } from '../lib/json.ts';

it('parseJson returns undefined for invalid JSON', () => {
  expect(parseJson('{"a":1}')).toEqual({ a: 1 });
  expect(parseJson('{')).toBeUndefined();
});
