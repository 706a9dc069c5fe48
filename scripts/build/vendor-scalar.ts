import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// Updates the script of /docs: `npm pack @scalar/api-reference@VERSION`, unpack it, then `node
// scripts/build/vendor-scalar.ts package`. The package is not a dependency, because it would install 294
// packages (174 MB) for one file.

const folder = process.argv[2] ?? 'package';
const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const script = readFileSync(join(folder, 'dist/browser/standalone.js'), 'utf8');
writeFileSync('assets/scalar.json', `${JSON.stringify({ version, license, script })}\n`);
