import { build, type Plugin, type Rollup } from 'vite';

const SOURCE = 'src/start/start.ts';

/** Builds `src/start/` as a small script at the top of the page, so that it runs before anything else loads. */
export function startScript(target: string[]): Plugin {
  let isServing = false;
  let fileName = '';
  return {
    name: 'start-script',
    configResolved({ command }) {
      isServing = command === 'serve';
    },
    async generateBundle() {
      const built = (await build({
        configFile: false,
        logLevel: 'error',
        build: {
          target,
          write: false,
          modulePreload: false,
          rolldownOptions: {
            input: SOURCE,
            output: { format: 'iife', entryFileNames: 'assets/start-[hash].js' },
          },
        },
      })) as Rollup.RollupOutput;
      const [chunk] = built.output;
      fileName = chunk.fileName;
      this.emitFile({ type: 'asset', fileName, source: chunk.code });
    },
    transformIndexHtml: {
      order: 'post',
      handler: () => [
        {
          tag: 'script',
          attrs: isServing
            ? { type: 'module', src: `/app/${SOURCE}` }
            : { src: `/app/${fileName}` },
          injectTo: 'head-prepend',
        },
      ],
    },
  };
}
