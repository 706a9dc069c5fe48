import { gzipSync } from 'node:zlib';
import type { Plugin, Rollup } from 'vite';

const MAX_GZIPPED_BYTES = 200_000;

/** Fails the build if the overview needs more than `MAX_GZIPPED_BYTES` of script, or more than one file of it. */
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
        this.error(
          `the first page needs ${needed.size} script files, which load one after the other`,
        );
      }
      // The start script is built on its own, so it is an asset and not a chunk.
      const scripts = Object.values(bundle).filter(
        (file) => file.type === 'asset' && file.fileName.endsWith('.js'),
      ) as Rollup.OutputAsset[];
      const bytes = [
        ...chunks.filter(({ fileName }) => needed.has(fileName)).map(({ code }) => code),
        ...scripts.map(({ source }) => source),
      ].reduce((sum, script) => sum + gzipSync(script).length, 0);
      if (bytes > MAX_GZIPPED_BYTES) {
        this.error(
          `the first page needs ${bytes} bytes of gzipped script, more than ${MAX_GZIPPED_BYTES}: load what can wait with import()`,
        );
      }
      this.info(`the first page needs ${bytes} bytes of gzipped script`);
    },
  };
}
