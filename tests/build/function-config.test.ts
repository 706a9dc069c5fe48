import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { surfaces } from '../../lib/surfaces/surface-paths.ts';
import { writeBuildOutput } from '../../scripts/build/output.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

// A client that disconnects ends its chat turn. The platform reports that only to a function that asks for it, and may
// stop such a function: tests/api/observatory.test.ts proves that this one is kept alive.
it('asks the platform to report disconnected clients to the observatory and no other function', async () => {
  const bundle = { files: [], metafile: { inputs: {}, outputs: {} } };
  const page = join(folder, 'page');
  await mkdir(page);
  await writeBuildOutput(
    join(folder, 'output'),
    page,
    surfaces.map((surface) => ({ surface, bundle })),
  );
  const asking = await Promise.all(
    surfaces.map(async ({ name }) => {
      const file = join(folder, 'output/functions', `api/${name}.func`, '.vc-config.json');
      return [name, JSON.parse(await readFile(file, 'utf8')).supportsCancellation];
    }),
  );
  expect(Object.fromEntries(asking)).toEqual({
    backups: false,
    live: false,
    observatory: true,
    mcp: false,
  });
});

it('leaves out the compressed copies of the page, because the platform compresses it', async () => {
  const assets = join(folder, 'page/assets');
  await mkdir(assets, { recursive: true });
  for (const name of ['a.js', 'a.js.br', 'a.js.gz']) await writeFile(join(assets, name), name);
  await writeBuildOutput(join(folder, 'output'), join(folder, 'page'), []);
  const written = await readdir(join(folder, 'output/static/app/assets'));
  expect(written).toEqual(['a.js']);
});
