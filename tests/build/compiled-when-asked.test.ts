import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packages } from '../../scripts/build/compiled-when-asked.ts';

const lib = join(import.meta.dirname, '../../lib');
const sources = readdirSync(lib, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(join(lib, path), 'utf8'));

/** The names that an import or a destructured `import()` takes, without types. */
function namesIn(list: string): string[] {
  return list
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '' && !one.startsWith('type '))
    .map((one) => one.split(/\s+as\s+|:/)[0]?.trim() ?? '');
}

/** What is imported of a package, anywhere. */
function importedOf(name: string): Set<string> {
  const found = sources.flatMap((text) => [
    ...[...text.matchAll(new RegExp(`^import \\{([^}]*)\\} from '${name}';`, 'gm'))],
    ...[...text.matchAll(new RegExp(`\\{([^{}]*)\\} = await import\\('${name}'\\)`, 'g'))],
  ]);
  return new Set(found.flatMap(([, list = '']) => namesIn(list)));
}

describe('the packages that are compiled when they are asked for', () => {
  it.each(Object.keys(packages))('%s exports what is imported of it, and nothing else', (name) => {
    expect([...importedOf(name)].sort()).toEqual([...(packages[name] ?? [])].sort());
  });

  it('are imported in these two ways only, whose names can be seen', () => {
    const specifiers = sources.flatMap((text) => [
      ...text.matchAll(/^.*(?:from |import\()'([^'.][^']*)'.*$/gm),
    ]);
    const odd = specifiers
      .filter(([, name = '']) => name in packages)
      .map(([line]) => line)
      .filter(
        (line) => !/^(import (type )?\{|\} from|const \{.*\} = await import\()/.test(line.trim()),
      );
    expect(odd).toEqual([]);
  });
});
