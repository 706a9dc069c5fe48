import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { execa } from 'execa';
import { z } from 'zod';
import { runProgram } from './command.ts';

const program = new Command('npm run -s sbom')
  .description(
    `Writes a CycloneDX SBOM of the production dependencies to stdout, for a release. The same lock file gives the\nsame document on every machine.`,
  )
  .showHelpAfterError();

const manifest = z.looseObject({ name: z.string(), devDependencies: z.unknown() });
const lockFile = z.looseObject({
  packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })),
});
const sbom = z.looseObject({ serialNumber: z.string(), metadata: z.looseObject({}) });

await runProgram(program, async () => {
  const { devDependencies: _, ...shipped } = manifest.parse(await readJson('package.json'));
  const lock = lockFile.parse(await readJson('package-lock.json'));
  const packages = Object.entries(lock.packages)
    .filter(([, { dev }]) => !dev)
    .map(([path, { devDependencies: _, ...entry }]) => [path, entry] as const);
  const content = {
    'package.json': shipped,
    'package-lock.json': { ...lock, packages: { ...Object.fromEntries(packages), '': shipped } },
  };
  // `npm sbom --omit=dev` also omits packages needed by both, so it gets a project without dev dependencies.
  const parent = await mkdtemp(join(tmpdir(), 'sbom-'));
  try {
    const folder = join(parent, shipped.name);
    await mkdir(folder);
    for (const [name, value] of Object.entries(content)) {
      await writeFile(join(folder, name), JSON.stringify(value));
    }
    const { stdout } = await execa({ cwd: folder })`
      npm sbom --package-lock-only --sbom-format=cyclonedx --sbom-type=application`;
    const { serialNumber: _random, metadata, ...rest } = sbom.parse(JSON.parse(stdout));
    const { timestamp: _now, ...about } = metadata;
    process.stdout.write(`${JSON.stringify({ ...rest, metadata: about }, null, 2)}\n`);
    return 0;
  } finally {
    await rm(parent, { recursive: true });
  }
});

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, 'utf8'));
}
