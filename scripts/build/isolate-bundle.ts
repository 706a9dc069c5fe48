import { builtinModules } from 'node:module';
import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';

/**
 * Bundles all surfaces into one minified module worker that imports only Node's built-in modules. Throws if
 * it cannot be built.
 */
export async function bundleIsolate(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: resolve(import.meta.dirname, '../..'),
    entryPoints: ['scripts/isolate.ts'],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    plugins: [importBuiltins],
    logLevel: 'error',
  });
  const [file] = outputFiles;
  if (!file) throw new Error('nothing was built');
  return file.text;
}

const builtins = new RegExp(`^(node:)?(${builtinModules.join('|')})$`);

/** Built-in modules can only be imported there, but CommonJS libraries call `require`. */
const importBuiltins: Plugin = {
  name: 'import-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: builtins }, ({ path, kind }) => {
      const name = path.startsWith('node:') ? path : `node:${path}`;
      return kind === 'require-call'
        ? { path: name, namespace: 'required-builtin' }
        : { path: name, external: true };
    });
    onLoad({ filter: /./, namespace: 'required-builtin' }, ({ path }) => ({
      contents: `import builtin from ${JSON.stringify(path)}; module.exports = builtin;`,
    }));
  },
};
