import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { bundleFunction } from '../../scripts/build/bundle.ts';
import { useSharedFolder } from '../support/folders.ts';

const folder = useSharedFolder();

/** Bundles `entry.ts` together with other files; `load` imports the result. */
async function bundle(name: string, files: Record<string, string>) {
  const sources = join(folder, name, 'lib');
  const built = join(folder, name, 'built');
  await mkdir(sources, { recursive: true });
  await mkdir(built);
  for (const [path, text] of Object.entries(files)) await writeFile(join(sources, path), text);
  const bundle = await bundleFunction(join(sources, 'entry.ts'), { logLevel: 'silent' });
  for (const { path, contents } of bundle.files) await writeFile(join(built, path), contents);
  return { ...bundle, load: () => import(pathToFileURL(join(built, 'index.mjs')).href) };
}

it('puts what is loaded with import() into a separate file, and loads it on demand', async () => {
  const { files, load } = await bundle('lazy', {
    'entry.ts': "export const ran: string[] = []; export const ask = () => import('./lazy.ts');",
    'lazy.ts': "import { ran } from './entry.ts'; ran.push('lazy');",
  });
  expect(files.filter(({ path }) => path.endsWith('.mjs')).length).toBeGreaterThan(1);
  const { ran, ask } = await load();
  expect(ran).toEqual([]);
  await ask();
  expect(ran).toEqual(['lazy']);
});

it("lets CommonJS packages require Node's built-in modules", async () => {
  const { load } = await bundle('commonjs', {
    'entry.ts': "import { end } from './old.cjs'; export default end;",
    'old.cjs': "module.exports = { end: require('os').EOL };",
  });
  expect((await load()).default).toBe('\n');
});

it('writes a source map with the name of the source but not its text', async () => {
  const { files } = await bundle('map', { 'entry.ts': 'export const one: number = 1;' });
  const map = files.find(({ path }) => path === 'index.mjs.map');
  const { sources, sourcesContent } = JSON.parse(Buffer.from(map?.contents ?? []).toString());
  expect(sources).toEqual([expect.stringMatching(/map\/lib\/entry\.ts$/)]);
  expect(sourcesContent).toBeUndefined();
});

it('fails to bundle an import that would be missing at run time', async () => {
  const entry = "import { it } from 'nowhere-to-be-found'; export default it;";
  await expect(bundle('missing', { 'entry.ts': entry })).rejects.toThrow(/nowhere-to-be-found/);
  const file = join(folder, 'missing/lib/entry.ts');
  await writeFile(file, "export { it } from 'elsewhere';");
  await expect(bundleFunction(file, { external: ['elsewhere'] })).rejects.toThrow(
    'has imports that are not bundled: elsewhere',
  );
});
