import { readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { join, resolve } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { builtinsWhenAsked } from './builtins-when-asked.ts';
import { compiledWhenAsked } from './compiled-when-asked.ts';

const project = resolve(import.meta.dirname, '../..');

/** A deployed function as one ES module. */
export interface Bundle {
  code: Uint8Array;
  /** Its source map, without the text of the sources. */
  map: Uint8Array;
  /** What went into it, and how many bytes each part has in it: of the module, and of the texts in it. */
  metafiles: Metafile[];
}

/** Packages that libraries take when they are installed, which here they are not. */
const optional = ['bufferutil', 'utf-8-validate', '@react-email/render'];
const known = new Set([...optional, ...builtinModules]);

/** The client of Postgres in C, which pg loads only when it is asked for. */
const noNativeClient: Plugin = {
  name: 'no-native-client',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]pg[\\/]lib[\\/]native[\\/]index\.js$/ }, () => ({
      contents: 'throw Object.assign(new Error("not bundled"), { code: "MODULE_NOT_FOUND" });',
    }));
  },
};

/**
 * `import { z }` is an object with all of zod in it; of `import * as z`, which is the same, only what is
 * used is bundled.
 */
const usedPartsOfZod: Plugin = {
  name: 'used-parts-of-zod',
  setup({ onLoad }) {
    const importers =
      /[\\/](api|lib|scripts|bench|ai|@ai-sdk|@modelcontextprotocol)[\\/].*\.m?[jt]s$/;
    onLoad({ filter: importers }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(
        /^import \{ z \} from (?=['"]zod)/gm,
        'import * as z from ',
      ),
      loader: path.endsWith('ts') ? 'ts' : 'js',
    }));
  },
};

/** The schemas of MCP without the half that nothing uses: else each is made, for all that a bundler knows. */
const usedSchemasOfProtocol: Plugin = {
  name: 'used-schemas-of-protocol',
  setup({ onLoad }) {
    // The next line after its end is not indented and closes nothing.
    const declaration = /^((?:export )?const \w+ = )((?:z|\w+Schema)\b[\s\S]*?);\n(?=[^\s}])/gm;
    onLoad({ filter: /[\\/]sdk[\\/]dist[\\/]esm[\\/]types\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace(declaration, '$1/* @__PURE__ */ (() => $2)();\n');
      if (contents === text) throw new Error(`${path} declares its schemas in another form`);
      return { contents };
    });
  },
};

const NO_GATEWAY = `
  class NoError { static isInstance() { return false; } }
  export { NoError as GatewayAuthenticationError, NoError as GatewayError };
  export const [gateway, createGateway] = [];
`;
const NO_CSS = `
  module.exports.parse = () => { throw new Error('styles are not bundled'); };
`;
const NO_MAIL_PARSER = `
  export default { parse() { throw new Error('reading mail is not bundled'); } };
`;

/** What libraries load whether or not it is called, and what stands in where nothing of it ever is. */
const neverCalled = [
  // prom-client: traces beside its figures.
  { name: /^@opentelemetry\/api$/, instead: 'module.exports = {};' },
  // The MCP SDK: for servers that are not given a validator of their own.
  { name: /\/ajv-provider\.js$/, instead: 'export class AjvJsonSchemaValidator {}' },
  // The AI SDK: the provider of models that are named by a text alone, and its errors.
  { name: /^@ai-sdk\/gateway$/, instead: NO_GATEWAY },
  // sanitize-html: style attributes, which we allow nowhere.
  { name: /^postcss$/, instead: NO_CSS },
  // resend: mail that was received.
  { name: /^postal-mime$/, instead: NO_MAIL_PARSER },
];

const nothingInstead: Plugin = {
  name: 'nothing-instead',
  setup({ onResolve, onLoad }) {
    for (const { name, instead } of neverCalled) {
      const namespace = `instead of ${name.source}`;
      onResolve({ filter: name }, ({ path }) => ({ path, namespace }));
      onLoad({ filter: /./, namespace }, () => ({ contents: instead }));
    }
  },
};

/** What we use of the metrics library, each part loaded when it is, without its cluster and its gateway. */
const usedPartsOfMetrics: Plugin = {
  name: 'used-parts-of-metrics',
  setup({ onLoad }) {
    const parts = {
      Registry: 'registry',
      Counter: 'counter',
      Gauge: 'gauge',
      Histogram: 'histogram',
      collectDefaultMetrics: 'defaultMetrics',
    };
    const getters = Object.entries(parts).map(
      ([name, file]) => `get ${name}() { return require('./lib/${file}'); },`,
    );
    onLoad({ filter: /[\\/]prom-client[\\/]index\.js$/ }, () => ({
      contents: `module.exports = {${getters.join(' ')}};`,
    }));
  },
};

/** How everything is bundled, the packages that are compiled when they are asked for too. */
const settings: BuildOptions = {
  absWorkingDir: project,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node22',
  legalComments: 'none',
  external: optional,
  define: { 'process.env.NODE_PG_FORCE_NATIVE': 'undefined' },
  plugins: [
    noNativeClient,
    usedSchemasOfProtocol,
    usedPartsOfZod,
    usedPartsOfMetrics,
    nothingInstead,
    builtinsWhenAsked,
  ],
  // A type import of a library without side effects leaves nothing.
  logOverride: { 'ignored-bare-import': 'silent' },
  metafile: true,
  write: false,
};

/**
 * Bundles a file and everything that it imports into one minified ES module for Node. What is imported
 * with `import()` is in it too, but runs only when it is asked for. `entry` is a path from the root of the
 * project; `options` go before ours. Throws when something is imported that would be missing.
 */
export async function bundleFunction(entry: string, options: BuildOptions = {}): Promise<Bundle> {
  const texts: Metafile[] = [];
  const { outputFiles = [], metafile } = await build({
    ...settings,
    entryPoints: [entry],
    // Nothing is written there; paths in the source map are relative to it.
    outfile: join(project, 'api/index.mjs'),
    format: 'esm',
    sourcemap: 'linked',
    sourcesContent: false,
    // CommonJS packages call it for what Node brings.
    banner: {
      js: "const require=process.getBuiltinModule('node:module').createRequire(import.meta.url);",
    },
    plugins: [compiledWhenAsked(settings, texts), ...(settings.plugins ?? [])],
    ...options,
    metafile: true,
    write: false,
  });
  const metafiles = [metafile, ...texts];
  const missing = metafiles
    .flatMap(({ outputs }) => Object.values(outputs))
    .flatMap(({ imports }) => imports)
    .filter(({ external, path }) => external && !known.has(path.replace(/^node:/, '')));
  if (missing.length > 0) {
    const paths = [...new Set(missing.map(({ path }) => path))];
    throw new Error(`${entry} imports what is not bundled: ${paths.join(', ')}`);
  }
  const contents = (end: string) =>
    outputFiles.find(({ path }) => path.endsWith(end))?.contents ?? new Uint8Array();
  return { code: contents('.mjs'), map: contents('.map'), metafiles };
}
