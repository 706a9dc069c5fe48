import { expect, it } from 'vitest';
import { findCanaries, makeCanary } from './canaries.ts';

// The search used by the leak tests finds planted secrets.

const canary = makeCanary('KEY');
const { value, core } = canary;

it.each([
  ['unchanged', value],
  ['in JSON', JSON.stringify({ value })],
  ['in JSON in JSON', JSON.stringify(JSON.stringify({ value }))],
  ['in a URL', encodeURIComponent(value)],
  ['cut at both ends', core],
  ['in upper case', value.toUpperCase()],
  ['in hex', Buffer.from(value).toString('hex')],
  ['in upper hex', Buffer.from(value).toString('hex').toUpperCase()],
  ['in base64', btoa(value)],
  ['in base64 of a header', btoa(`x:${value}`)],
  ['in base64 of another header', btoa(`xy:${value}`)],
  ['in base64url', Buffer.from(`??>${value}`).toString('base64url')],
])('findCanaries finds a secret %s', (_name, text) => {
  expect(findCanaries(`before ${text} after`, [canary])).not.toEqual([]);
});

it('findCanaries finds nothing if there is nothing', () => {
  expect(findCanaries('cnry of another kind, aGVsbG8=', [canary])).toEqual([]);
});
