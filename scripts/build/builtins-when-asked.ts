import { isBuiltin } from 'node:module';
import type { Plugin } from 'esbuild';

/**
 * What Node brings, loaded when the module runs that imports it. A plain `import` loads it with the bundle,
 * also for parts that run later or never, and reads everything that it exports.
 */
export const builtinsWhenAsked: Plugin = {
  name: 'builtins-when-asked',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return undefined;
      const namespace = kind === 'require-call' ? 'required-builtin' : 'imported-builtin';
      return { path: path.replace(/^(node:)?/, 'node:'), namespace };
    });
    onLoad({ filter: /./, namespace: 'required-builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
    onLoad({ filter: /./, namespace: 'imported-builtin' }, async ({ path }) => ({
      contents: exportEverything(path, Object.keys(await import(path))),
    }));
  },
};

/** A module that exports what a builtin has: what nobody imports of it is left out. */
function exportEverything(path: string, names: readonly string[]): string {
  const exported = names
    .filter((name) => name !== 'default')
    .map((name) => `export const ${name} = /* @__PURE__ */ $read('${name}');`);
  return [
    `const $builtin = process.getBuiltinModule('${path}');`,
    'const $read = (name) => $builtin[name];',
    'export default $builtin;',
    ...exported,
  ].join('\n');
}
