import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const project = resolve(import.meta.dirname, '../..');

/** The text of a document, by its path from the project root. */
export const readDocument = (path: string) => readFileSync(join(project, path), 'utf8');

/** Every page of docs/. */
export const pages: readonly string[] = readdirSync(join(project, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

/** Every document of the project. */
export const documents: readonly string[] = [
  ...readdirSync(project).filter((name) => name.endsWith('.md')),
  ...pages,
  'docs/monitoring/README.md',
];

/** The README, then the pages in the order of its table of documents. */
export function readingOrder(): string[] {
  const links = readDocument('README.md').matchAll(/^\| \[(docs\/[\w-]+\.md)\]/gm);
  return ['README.md', ...[...links].map(([, page = '']) => page)];
}

/** The content of each block of code in a language. */
export function codeBlocks(text: string, language: string): string[] {
  const blocks = text.matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return [...blocks].filter(([, tag]) => tag === language).map(([, , block = '']) => block);
}

/** The commands that a reader can run unchanged. Blocks that need an account are marked as text. */
export function commandsOf(document: string): string[] {
  return codeBlocks(readDocument(document), 'sh').flatMap((block) => block.trim().split('\n'));
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```$/gms, '');
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
}
