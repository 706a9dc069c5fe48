import { mkdirSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { bundleIsolate } from './build/isolate-bundle.ts';
import { runCommand } from './command.ts';

// Bundles all surfaces into one module for isolate runtimes such as workerd: `npm run build:isolate`.

const FOLDER = 'dist';

await runCommand(async () => {
  const code = await bundleIsolate();
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/isolate.js`, code);
  const kilobytes = Math.round(gzipSync(code).length / 1000);
  process.stdout.write(`${FOLDER}/isolate.js: ${kilobytes} kB gzipped\n`);
  return 0;
});
