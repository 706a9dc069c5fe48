import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { PAGE_PATH } from '../../lib/surfaces/page.ts';
import { buildOutputConfig, functionPath, type Surface } from '../../lib/surfaces/surface-paths.ts';
import { COMPRESSED_ENDINGS } from '../page/compress-files.ts';
import type { Bundle } from './bundle.ts';

/** How the platform runs a bundle (Build Output API, Node.js functions). */
const functionConfig = ({ maxDuration, supportsCancellation = false }: Surface) => ({
  runtime: 'nodejs24.x',
  handler: 'index.mjs',
  launcherType: 'Nodejs',
  // Helpers would consume request bodies.
  shouldAddHelpers: false,
  shouldAddSourcemapSupport: true,
  supportsResponseStreaming: true,
  supportsCancellation,
  maxDuration,
});

/**
 * Writes functions, the built page, routes and cron jobs in the platform's format (Build Output API, version
 * 3). Removes the output of an earlier build.
 */
export async function writeBuildOutput(
  folder: string,
  pageFolder: string,
  bundles: readonly { surface: Surface; bundle: Bundle }[],
): Promise<void> {
  for (const part of ['functions', 'static']) {
    await rm(join(folder, part), { recursive: true, force: true });
  }
  await mkdir(folder, { recursive: true });
  await cp(pageFolder, join(folder, 'static', PAGE_PATH), {
    recursive: true,
    // The platform compresses them itself.
    filter: (path) => !COMPRESSED_ENDINGS.includes(extname(path)),
  });
  await writeFile(join(folder, 'config.json'), formatJson(buildOutputConfig()));
  for (const { surface, bundle } of bundles) {
    const into = join(folder, 'functions', `${functionPath(surface)}.func`);
    await mkdir(into, { recursive: true });
    await writeFile(join(into, '.vc-config.json'), formatJson(functionConfig(surface)));
    for (const { path, contents } of bundle.files) await writeFile(join(into, path), contents);
  }
}

const formatJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
