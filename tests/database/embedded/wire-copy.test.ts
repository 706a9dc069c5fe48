import { describe, expect, it } from 'vitest';
import { copyInResponse, isCopyFromClient } from '../../../lib/database/embedded/wire-copy.ts';

describe('isCopyFromClient', () => {
  it.each([
    'copy t from stdin',
    'COPY public.t (a, "from stdin") FROM stdin;',
    '-- data of t\nCOPY t FROM STDIN WITH (FORMAT csv, HEADER)',
    '/* x */ copy "T;x" from stdin where a > 1',
  ])('takes %j', (sql) => {
    expect(isCopyFromClient(sql)).toBe(true);
  });

  it.each([
    'copy t to stdout',
    "copy (select ' from stdin ') to stdout",
    'copy (select a from stdin) to stdout',
    "copy t from '/tmp/file'",
    'begin; copy t from stdin; commit',
    'copy t from stdin; select 1',
    "select 'copy t from stdin'",
    '-- copy t from stdin',
    `copy t from stdin${' '.repeat(4_096)}`,
  ])('leaves %j', (sql) => {
    expect(isCopyFromClient(sql)).toBe(false);
  });
});

it('says that a binary COPY is binary', () => {
  expect(copyInResponse('copy t from stdin')[5]).toBe(0);
  expect(copyInResponse('copy t from stdin (format binary)')[5]).toBe(1);
});
