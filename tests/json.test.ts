import { expect, it } from 'vitest';
import { parseJson } from '../lib/json.ts';

it('parseJson answers undefined for what is not JSON', () => {
  expect(parseJson('{"a":1}')).toEqual({ a: 1 });
  expect(parseJson('{')).toBeUndefined();
});
