import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

/**
 * Packages that many requests do without, and what we import of them. A function knows only one of the two
 * drivers by its configuration, no more than one request in hundreds mails or unpacks something, and a
 * client of the live feed may read the stream in place of a WebSocket.
 */
export const packages: Readonly<Record<string, readonly string[]>> = {
  '@neondatabase/serverless': ['neon', 'neonConfig', 'NeonDbError'],
  pg: ['Client', 'DatabaseError', 'Pool'],
  '@upstash/redis': ['Redis'],
  '@upstash/ratelimit': ['Ratelimit'],
  ws: ['WebSocketServer'],
  execa: ['execa'],
  'tar-stream': ['extract'],
  marked: ['Marked'],
  'sanitize-html': ['default'],
  resend: ['Resend'],
};

const namespace = 'compiled-when-asked';

/** Is it such a package as a text, among the files that a bundle is made of? */
export const isCompiledWhenAsked = (path: string) => path.startsWith(`${namespace}:`);

/**
 * Keeps those packages as texts in the bundle, each compiled when the module runs that imports it. V8 reads
 * all code of a module before it runs any, at a cost of about a millisecond for 25 kB; a text it only skips.
 * The texts are made here, from what is installed: nothing else is ever compiled. `settings` are how they
 * are bundled; what went into them is added to `metafiles`.
 */
export function compiledWhenAsked(settings: BuildOptions, metafiles: Metafile[]): Plugin {
  return {
    name: namespace,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /./ }, ({ path }) =>
        Object.hasOwn(packages, path) ? { path, namespace } : undefined,
      );
      onLoad({ filter: /./, namespace }, async ({ path }) => {
        const names = packages[path] ?? [];
        const { outputFiles = [], metafile } = await build({
          ...settings,
          stdin: {
            contents: `export { ${names.join(', ')} } from '${path}';`,
            resolveDir: settings.absWorkingDir ?? '.',
          },
          format: 'cjs',
          metafile: true,
          write: false,
        });
        metafiles.push(metafile);
        return { contents: compileAndExport(path, outputFiles[0]?.text ?? '', names) };
      });
    },
  };
}

/** A module that compiles the text of a CommonJS module and exports what that exports. */
function compileAndExport(path: string, text: string, names: readonly string[]): string {
  const exported = names.map((name) =>
    name === 'default'
      ? 'export default $module.exports.default;'
      : `export const ${name} = $module.exports.${name};`,
  );
  return [
    "import { compileFunction } from 'node:vm';",
    'const $module = { exports: {} };',
    `const $run = compileFunction(${JSON.stringify(text)}, ['module', 'exports', 'require'], { filename: '${path}' });`,
    '$run($module, $module.exports, require);',
    ...exported,
  ].join('\n');
}
