import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { anchorsOf, documents, pages, readDocument, readingOrder } from '../support/documents.ts';

const project = resolve(import.meta.dirname, '../..');

/** The fault of a link target (a path from the project's root, with or without a heading); null if it has none. */
function findFault(target: string): string | null {
  const [path = '', anchor] = target.split('#');
  if (!existsSync(join(project, path))) return `${target}: there is no such file`;
  if (anchor === undefined || anchorsOf(readDocument(path)).includes(anchor)) return null;
  return `${target}: there is no such heading`;
}

describe.each(documents)('%s', (document) => {
  const text = readDocument(document);

  it('links only to files and headings that exist', () => {
    const targets = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target = '']) =>
      target.startsWith('#') ? `${document}${target}` : join(dirname(document), target),
    );
    expect(targets.map(findFault).filter((fault) => fault !== null)).toEqual([]);
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readDocument('package.json'));
    const named = [...text.matchAll(/npm run (?:-s |--silent )?([a-z][\w:]*)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

describe('README.md', () => {
  it('lists every page of docs/', () => {
    expect(readingOrder().slice(1).sort()).toEqual([...pages].sort());
  });

  it('shows how to run and test the project on its first screen', () => {
    const screen = readDocument('README.md').split('\n').slice(0, 32);
    expect(screen).toContain('npm ci && npm start');
    expect(screen).toContain('npm ci && npm test');
  });

  it('has at most 250 lines', () => {
    expect(readDocument('README.md').split('\n').length).toBeLessThanOrEqual(251);
  });
});

it('code and error messages refer only to documents and headings that exist', async () => {
  const { stdout } = await execa(
    'git',
    ['grep', '-lE', 'docs/[a-z-]+\\.md', '--', '*.ts', '*.mjs'],
    {
      cwd: project,
    },
  );
  const faults = stdout.split('\n').flatMap((file) =>
    [...readFileSync(join(project, file), 'utf8').matchAll(/docs\/[a-z-]+\.md(#[\w-]+)?/g)]
      .map(([target]) => findFault(target))
      .filter((fault) => fault !== null)
      .map((fault) => `${file}: ${fault}`),
  );
  expect(faults).toEqual([]);
});
