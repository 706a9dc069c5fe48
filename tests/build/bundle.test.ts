import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { bundleFunction } from '../../scripts/build/bundle.ts';
import { useSharedFolder } from '../support/folders.ts';

const folder = useSharedFolder();

/** Bundles the file `entry.ts` among others; `load` imports the result. */
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

it('loads what is imported with import() from another file, once it is asked for', async () => {
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

it("lets CommonJS packages require Node's own modules", async () => {
  const { load } = await bundle('commonjs', {
    'entry.ts': "import { end } from './old.cjs'; export default end;",
    'old.cjs': "module.exports = { end: require('os').EOL };",
  });
  expect((await load()).default).toBe('\n');
});

it('writes a source map that names the source and leaves out its text', async () => {
  const { files } = await bundle('map', { 'entry.ts': 'export const one: number = 1;' });
  const map = files.find(({ path }) => path === 'index.mjs.map');
  const { sources, sourcesContent } = JSON.parse(Buffer.from(map?.contents ?? []).toString());
  expect(sources).toEqual([expect.stringMatching(/map\/lib\/entry\.ts$/)]);
  expect(sourcesContent).toBeUndefined();
});

it('fails when an import would be missing where the function runs', async () => {
  const entry = "import { it } from 'nowhere-to-be-found'; export default it;";
  await expect(bundle('missing', { 'entry.ts': entry })).rejects.toThrow(/nowhere-to-be-found/);
  const file = join(folder, 'missing/lib/entry.ts');
  await writeFile(file, "export { it } from 'elsewhere';");
  await expect(bundleFunction(file, { external: ['elsewhere'] })).rejects.toThrow(
    'has imports that are not bundled: elsewhere',
  );
});
