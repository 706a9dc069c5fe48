import { builtinModules } from 'node:module';
import { join, resolve } from 'node:path';
import { type BuildOptions, build, type Metafile } from 'esbuild';

const project = resolve(import.meta.dirname, '../..');

/** A deployed function: `index.mjs`, the chunks it loads with `import()`, and those it shares with them. */
export interface Bundle {
  files: readonly { path: string; contents: Uint8Array }[];
  metafile: Metafile;
}

/** Optional dependencies of libraries that are not installed here. */
const optional = ['bufferutil', 'utf-8-validate', '@react-email/render', 'pg-native'];
const known = new Set([...optional, ...builtinModules]);

/**
 * Bundles a file and its imports into minified ES modules for Node.js, split at each `import()`. `entry` is
 * relative to the project root. Throws if an import would be missing at run time.
 */
export async function bundleFunction(entry: string, options: BuildOptions = {}): Promise<Bundle> {
  const outdir = join(project, 'api'); // Nothing is written there, but source maps are relative to it.
  const { outputFiles, metafile } = await build({
    absWorkingDir: project,
    entryPoints: { index: entry },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    legalComments: 'none',
    sourcemap: 'linked',
    sourcesContent: false,
    external: optional,
    // CommonJS packages call `require` for Node's own modules.
    banner: {
      js: "import{createRequire as $require}from'node:module';const require=$require(import.meta.url);",
    },
    // Type imports of packages without side effects are expected.
    logOverride: { 'ignored-bare-import': 'silent' },
    ...options,
    metafile: true,
    write: false,
  });
  const missing = Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ external, path }) => external && !known.has(path.replace(/^node:/, '')));
  if (missing.length > 0) {
    const paths = [...new Set(missing.map(({ path }) => path))];
    throw new Error(`${entry} has imports that are not bundled: ${paths.join(', ')}`);
  }
  const files = outputFiles.map(({ path, contents }) => ({
    path: path.slice(outdir.length + 1),
    contents,
  }));
  return { files, metafile };
}
