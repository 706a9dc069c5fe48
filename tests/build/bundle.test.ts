import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Bundle, bundleFunction } from '../../scripts/build/bundle.ts';
import { temporaryFolder } from '../support/git.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

/** Bundles the file `entry.ts` among others, and imports what comes of it. */
async function bundle(name: string, files: Record<string, string>) {
  const into = join(folder.path, name, 'lib');
  await mkdir(into, { recursive: true });
  for (const [path, text] of Object.entries(files)) await writeFile(join(into, path), text);
  const built: Bundle = await bundleFunction(join(into, 'entry.ts'), {
    nodePaths: [join(import.meta.dirname, '../../node_modules')],
    logLevel: 'silent',
  });
  const file = join(into, 'index.mjs');
  await writeFile(file, built.code);
  await writeFile(`${file}.map`, built.map);
  return { ...built, load: () => import(pathToFileURL(file).href) };
}

it('runs what is imported with import() when it is asked for, from the same file', async () => {
  const { load } = await bundle('lazy', {
    'entry.ts': "export const ran: string[] = []; export const ask = () => import('./lazy.ts');",
    'lazy.ts': "import { ran } from './entry.ts'; ran.push('lazy');",
  });
  const { ran, ask } = await load();
  expect(ran).toEqual([]);
  await ask();
  expect(ran).toEqual(['lazy']);
});

it('lets CommonJS packages require what Node brings', async () => {
  const { load } = await bundle('commonjs', {
    'entry.ts': "import { end } from './old.cjs'; export default end;",
    'old.cjs': "module.exports = { end: require('os').EOL };",
  });
  expect((await load()).default).toBe('\n');
});

it('loads what Node brings when the module runs that imports it', async () => {
  const { code, load } = await bundle('builtins', {
    'entry.ts': "export const ask = () => import('./lazy.ts');",
    'lazy.ts': [
      "import dns, { getDefaultResultOrder } from 'node:dns';",
      "import { EOL } from 'os';",
      'export const lazy = [typeof dns.lookup, getDefaultResultOrder(), EOL];',
    ].join('\n'),
  });
  expect(Buffer.from(code).toString()).not.toMatch(/\bimport\b(?!\.meta)/);
  const { ask } = await load();
  expect((await ask()).lazy).toEqual(['function', 'verbatim', '\n']);
});

it('compiles packages that few requests need when they are asked for', async () => {
  const compile = vi.spyOn(vm, 'compileFunction');
  const { metafiles, load } = await bundle('texts', {
    'entry.ts': "export const ask = () => import('./lazy.ts');",
    'lazy.ts': "import { Marked } from 'marked'; export const html = new Marked().parse('# A');",
  });
  expect(metafiles.flatMap(({ inputs }) => Object.keys(inputs))).toContainEqual(
    expect.stringMatching(/node_modules\/marked\//),
  );
  const { ask } = await load();
  expect(compile).not.toHaveBeenCalled();
  expect((await ask()).html).toBe('<h1>A</h1>\n');
  expect(compile.mock.calls.map(([, , options]) => options)).toEqual([{ filename: 'marked' }]);
  compile.mockRestore();
});

it('leaves out what is not used of zod, and every language but English', async () => {
  const { metafiles, load } = await bundle('zod', {
    'entry.ts': "import { z } from 'zod'; export default z.string();",
  });
  const files = metafiles
    .flatMap(({ outputs }) => Object.values(outputs))
    .flatMap(({ inputs }) => Object.keys(inputs));
  expect(files.some((path) => path.endsWith('/from-json-schema.js'))).toBe(false);
  const languages = files.filter((path) => path.includes('/locales/'));
  expect(languages).toEqual([expect.stringMatching(/\/en\.js$/)]);
  const { default: schema } = await load();
  expect(schema.safeParse(1).error.issues[0].message).toContain('expected string');
});

it('has a source map that says where a line comes from and holds no text of it', async () => {
  const { map } = await bundle('map', { 'entry.ts': 'export const one: number = 1;' });
  const { sources, sourcesContent } = JSON.parse(Buffer.from(map).toString());
  expect(sources).toEqual([expect.stringMatching(/map\/lib\/entry\.ts$/)]);
  expect(sourcesContent).toBeUndefined();
});

it('fails when something would be missing where it runs', async () => {
  const entry = "import { it } from 'nowhere-to-be-found'; export default it;";
  await expect(bundle('missing', { 'entry.ts': entry })).rejects.toThrow(/nowhere-to-be-found/);
  const file = join(folder.path, 'missing/lib/entry.ts');
  await writeFile(file, "export { it } from 'elsewhere';");
  await expect(bundleFunction(file, { external: ['elsewhere'] })).rejects.toThrow(
    'imports what is not bundled: elsewhere',
  );
});
