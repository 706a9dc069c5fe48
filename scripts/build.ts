import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { surfaces } from '../lib/surfaces/surface-paths.ts';
import { bundleFunction } from './build/bundle.ts';
import { writeBuildOutput } from './build/output.ts';
import { bundleReport, compareWeight, findBanned, weigh } from './build/report.ts';
import { runProgram } from './command.ts';
import { buildPageWhenStale, PAGE_FOLDER } from './page/build-page.ts';

// Bundles the deployed functions and writes what `vercel deploy --prebuilt` uploads: `npm run build`.

const program = new Command('npm run build --')
  .description('Bundles the deployed functions and builds the page.')
  .option('--out <folder>', 'where to write', '.vercel/output')
  .option('--check', 'compare the bundles with the report in the repository, and write nothing')
  .option('--report', 'write that report')
  .showHelpAfterError();
const REPORT = 'scripts/build/bundles.json';

await runProgram(program, async () => {
  const values = program.opts<{ out: string; check?: true; report?: true }>();
  const built = await Promise.all(
    surfaces.map(async (surface) => {
      const bundle = await bundleFunction(surface.entry);
      return { surface, bundle, weight: weigh(bundle) };
    }),
  );
  const banned = built.flatMap(({ surface, bundle }) => findBanned(surface.name, bundle));
  for (const complaint of banned) process.stderr.write(`${complaint}\n`);
  if (banned.length > 0) return 1;
  if (values.report) {
    const report = Object.fromEntries(built.map(({ surface, weight }) => [surface.name, weight]));
    writeFileSync(REPORT, `${JSON.stringify(report, null, 2)}\n`);
  } else if (values.check) {
    const reported = bundleReport.parse(
      existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, 'utf8')) : {},
    );
    const complaints = built.flatMap(({ surface: { name }, weight }) =>
      compareWeight(name, weight, reported[name]),
    );
    for (const complaint of complaints) process.stderr.write(`${complaint}\n`);
    if (complaints.length === 0) return 0;
    process.stderr.write('If this is intended: npm run build -- --report\n');
    return 1;
  } else {
    await buildPageWhenStale((text) => process.stdout.write(text));
    await writeBuildOutput(values.out, PAGE_FOLDER, built);
    for (const { surface, weight } of built) {
      const kilobytes = (bytes: number) => `${Math.round(bytes / 1_000)} kB`;
      process.stdout.write(
        `${surface.entry}: ${kilobytes(weight.bytes)}, ${kilobytes(weight.gzipBytes)} with gzip\n`,
      );
    }
    process.stdout.write(`written to ${values.out}\n`);
  }
  return 0;
});
