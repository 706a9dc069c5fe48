import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { secretNames } from '../../lib/config/secrets.ts';

const document = readFileSync('SECURITY.md', 'utf8');

/** The first cells of the table below a heading. */
function firstCells(heading: string): string[] {
  const section = document.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| (.+?) \|/gm)].map(([, cell = '']) => cell).slice(2);
}

it('SECURITY.md lists exactly the variables with a secret, and what they give access to', () => {
  const named = firstCells('What each secret opens').flatMap((cell) =>
    [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
  );
  expect(named.sort()).toEqual([...secretNames].sort());
});
