import { gzipSync } from 'node:zlib';
import type { Plugin, Rollup } from 'vite';

const MAX_GZIPPED_BYTES = 200_000;

/** Fails the build when the browser needs more script than this, or more than one file, before the overview works. */
export function firstPageBudget(): Plugin {
  return {
    name: 'first-page-budget',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      const needed = new Set<string>();
      const need = (name: string) => {
        const chunk = chunks.find(({ fileName }) => fileName === name);
        if (chunk === undefined || needed.has(name)) return;
        needed.add(name);
        for (const imported of chunk.imports) need(imported);
      };
      for (const { fileName, isEntry } of chunks) if (isEntry) need(fileName);
      if (needed.size > 1) {
        this.error(`the first page needs ${needed.size} files of script, which load one by one`);
      }
      // A script that is built on its own is no chunk.
      const scripts = Object.values(bundle).filter(
        (file) => file.type === 'asset' && file.fileName.endsWith('.js'),
      ) as Rollup.OutputAsset[];
      const bytes = [
        ...chunks.filter(({ fileName }) => needed.has(fileName)).map(({ code }) => code),
        ...scripts.map(({ source }) => source),
      ].reduce((sum, script) => sum + gzipSync(script).length, 0);
      if (bytes > MAX_GZIPPED_BYTES) {
        this.error(
          `the first page needs ${bytes} bytes of gzipped script, more than ${MAX_GZIPPED_BYTES}: load what it can do without with import()`,
        );
      }
      this.info(`the first page needs ${bytes} bytes of gzipped script`);
    },
  };
}
