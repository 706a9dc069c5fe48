import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { readDocument } from '../support/documents.ts';

const project = resolve(import.meta.dirname, '../..');
const worker = join(project, 'lib/worker');

type Uses = Map<string, Set<string>>;

/** The part of the worker that a file belongs to; null if it is not a file of the worker. */
function partOf(file: string): string | null {
  const path = relative(worker, file);
  if (path.startsWith('..')) return null;
  const [first = '', ...rest] = path.split('/');
  return rest.length === 0 ? 'commands' : first;
}

/** Which parts use which, as the imports say. */
function readImports(): Uses {
  const uses: Uses = new Map();
  for (const name of globSync('**/*.ts', { cwd: worker })) {
    const file = join(worker, name);
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(
      /(?:from|import|import\(|new URL\()\s*'(\.[^']+)'/g,
    )) {
      const from = partOf(file);
      const to = partOf(resolve(dirname(file), target));
      if (from !== null && to !== null && from !== to) add(uses, from, to);
    }
  }
  return uses;
}

function add(uses: Uses, from: string, to: string): void {
  uses.set(from, (uses.get(from) ?? new Set()).add(to));
}

/** Whatever a part uses, directly or through others. Throws if it uses itself. */
function reach(uses: Uses, part: string, above: readonly string[] = []): Set<string> {
  if (above.includes(part)) throw new Error(`a circle of parts: ${[...above, part].join(' → ')}`);
  const reached = new Set<string>();
  for (const used of uses.get(part) ?? []) {
    reached.add(used);
    for (const further of reach(uses, used, [...above, part])) reached.add(further);
  }
  return reached;
}

/** The uses that do not follow from others: what a drawing needs. */
function reduce(uses: Uses): string[] {
  return [...uses]
    .flatMap(([from, tos]) =>
      [...tos]
        .filter((to) => ![...tos].some((other) => other !== to && reach(uses, other).has(to)))
        .map((to) => `${from} --> ${to}`),
    )
    .sort();
}

it('the drawing of the worker shows which parts use which, without a circle', () => {
  const [, section = ''] = readDocument('docs/architecture.md').split('## The worker\n');
  const [drawing = ''] = /flowchart[^`]*/.exec(section) ?? [];
  const drawn = [...drawing.matchAll(/^ +(\w+ --> \w+)$/gm)].map(([, arrow = '']) => arrow);
  expect(drawn.sort()).toEqual(reduce(readImports()));
});

it('the table of the parts of the worker names each of them', () => {
  const [, section = ''] = readDocument('docs/architecture.md').split('## The worker\n');
  const [table = ''] = section.split('\n## ');
  const named = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
  const folders = globSync('*/**/*.ts', { cwd: worker }).map((path) => path.split('/')[0]);
  expect(named.sort()).toEqual([...new Set(folders)].sort());
});
