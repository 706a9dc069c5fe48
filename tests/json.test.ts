import { describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, parseJson, scanJson } from '../lib/json.ts';

it('parseJson returns undefined for invalid JSON', () => {
  expect(parseJson('{"a":1}')).toEqual({ a: 1 });
  expect(parseJson('{')).toBeUndefined();
});

describe('the scan of a JSON text', () => {
  const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`;
  const list = (values: number) => JSON.stringify(Array(values - 1).fill(1));
  const object = (values: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: values - 1 }, (_, n) => [`k${n}`, n])));

  it.each([
    ['nothing', ''],
    ['the deepest nesting', nested(MAX_JSON_DEPTH)],
    ['the longest list', list(MAX_JSON_VALUES - 1)],
    ['the largest object', object(MAX_JSON_VALUES - 1)],
    ['a long text', JSON.stringify('[{,'.repeat(100_000))],
    ['quotes and backslashes in texts', JSON.stringify({ '"[,\\': '\\"{,'.repeat(20_000) })],
  ])('reads %s once and allows it', (_what, text) => {
    expect(scanJson(text)).toEqual({ excess: null, scanned: text.length });
  });

  const deep = /nested more than 64 levels/;
  const many = /more than 10000 values/;
  it.each([
    ['one level more', nested(MAX_JSON_DEPTH + 2), deep, 400],
    ['brackets without an end', '['.repeat(1_000_000), deep, 65],
    ['levels of objects', '{"a":'.repeat(200_000), deep, 400],
    ['values in a list', list(500_000), many, 20_010],
    ['members of an object', object(100_000), many, 150_000],
    ['empty objects', `[${'{},'.repeat(300_000)}{}]`, many, 20_010],
    ['values in short lists', `[${'[[1]],'.repeat(100_000)}1]`, many, 25_000],
    ['invalid JSON', ','.repeat(1_000_000), many, 10_010],
  ])('rejects %s without reading on', (_what, text, excess, most) => {
    const found = scanJson(text);
    expect(found.excess).toMatch(excess);
    expect(found.scanned).toBeLessThanOrEqual(most);
  });
});
